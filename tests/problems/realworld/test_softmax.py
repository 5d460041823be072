"""Softmax regression by its logits: the steps in its weights, written out."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guidefbo.problems.realworld.softmax import Rows, train


def rows_of(features: np.ndarray, targets: np.ndarray) -> Rows:
    """Rows as they are; the first ones, as many as there are targets, are trained."""
    X = np.column_stack([features, np.ones(len(features))])
    return Rows(features=X, products=X[: targets.shape[1]] @ X.T, targets=targets)


def make(seed: int, n: int, m: int, d: int, k: int, epochs: int) -> Any:
    rng = np.random.default_rng(seed)
    classes = np.arange(n) % k
    training, others = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    rows = Rows.of(training, others, classes, k)
    orders = np.array([rng.permutation(n) for _ in range(epochs)])
    return rows, classes, rng.normal(size=(d + 1, k)), orders


def descend(
    rows: Rows, classes: Any, W: Any, orders: Any, size: int, l2: float, rate: float
) -> Any:
    """Change every single weight, in plain loops."""
    X, W = rows.features.tolist(), W.tolist()
    inputs, outputs = range(len(W)), range(len(W[0]))
    for order in orders:
        for start in range(0, len(order), size):
            batch = order[start : start + size]
            slope = [[l2 * W[j][c] for c in outputs] for j in inputs]
            for i in batch:
                logits = [sum(X[i][j] * W[j][c] for j in inputs) for c in outputs]
                total = sum(math.exp(z - max(logits)) for z in logits)
                for c in outputs:
                    p = math.exp(logits[c] - max(logits)) / total
                    for j in inputs:
                        error = p - (c == classes[i])
                        slope[j][c] += X[i][j] * error / len(batch)
            for j in inputs:
                for c in outputs:
                    W[j][c] -= rate * slope[j][c]
    return (rows.features @ np.array(W)).T


@given(
    seed=st.integers(0, 99),
    size=st.integers(1, 9),
    l2=st.floats(0.0, 1.0),
    rate=st.floats(1e-3, 1.0),
)
def test_training_is_descent_in_the_weights(
    seed: int, size: int, l2: float, rate: float
) -> None:
    """Seven rows: the last mini-batch of an epoch is smaller for most sizes."""
    rows, classes, W, orders = make(seed, n=7, m=2, d=3, k=3, epochs=2)
    found = train(rows, W, orders, batch_size=size, l2=l2, rate=rate)
    expected = descend(rows, classes, W, orders, size, l2, rate)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


def test_one_step_by_hand() -> None:
    """One row, no feature, bias (0, ln 3): probabilities 1/4 and 3/4."""
    rows = rows_of(np.zeros((1, 0)), np.array([[1.0], [0.0]]))
    W = np.array([[0.0, math.log(3.0)]])
    found = train(rows, W, np.array([[0]]), batch_size=20, l2=0.5, rate=0.2)
    expected = [0.2 * 0.75, 0.9 * math.log(3.0) - 0.2 * 0.75]
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-15)


def test_a_step_follows_the_slope_of_the_penalised_loss() -> None:
    """Cross-entropy averaged over the rows, plus l2 / 2 times the squared weights."""
    rng = np.random.default_rng(0)
    n, d, k, l2, rate = 6, 3, 4, 0.3, 0.01
    X, W = rng.normal(size=(n, d)), rng.normal(size=(d + 1, k))
    targets = (np.arange(k)[:, None] == np.arange(n) % k).astype(float)
    # Rows that are only scored show the weights: the origin and the axes.
    rows = rows_of(np.vstack([X, np.zeros(d), np.eye(d)]), targets)
    Z = train(rows, W, np.arange(n)[None], batch_size=n, l2=l2, rate=rate)[:, n:].T
    after = np.vstack([Z[1:] - Z[0], Z[0]])

    def loss(flat: np.ndarray) -> float:
        V = flat.reshape(d + 1, k)
        Z = rows.features[:n] @ V
        entropy = np.log(np.exp(Z).sum(axis=1)) - (Z * targets.T).sum(axis=1)
        return float(entropy.mean() + 0.5 * l2 * np.sum(V**2))

    h, flat = 1e-5, W.ravel()
    slope = [
        (loss(flat + h * e) - loss(flat - h * e)) / (2 * h) for e in np.eye(flat.size)
    ]
    found = (W - after).ravel() / rate
    np.testing.assert_allclose(found, slope, atol=1e-8)


def test_large_logits_do_not_overflow() -> None:
    rows, _, W, orders = make(1, n=12, m=3, d=5, k=3, epochs=3)
    assert np.isfinite(
        train(rows, 1e4 * W, orders, batch_size=4, l2=0.0, rate=10.0)
    ).all()


def test_features_are_standardised_by_the_rows_to_train_on() -> None:
    rng = np.random.default_rng(2)
    training, others = 5 + 3 * rng.normal(size=(20, 4)), rng.normal(size=(6, 4))
    training[:, 2] = 0.1  # 0.1 has no exact mean in floating point
    rows = Rows.of(training, others, np.arange(20) % 2, 2)
    X = rows.features
    changes = [0, 1, 3]
    np.testing.assert_allclose(X[:20, :4].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(X[:20, changes].std(axis=0), 1.0, atol=1e-12)
    np.testing.assert_array_equal(X[:, 2], 0.0)
    np.testing.assert_array_equal(X[:, 4], 1.0)
    expected = (others - training.mean(axis=0)) / training.std(axis=0)
    np.testing.assert_allclose(X[20:, changes], expected[:, changes], rtol=1e-12)
    np.testing.assert_array_equal(rows.targets.argmax(axis=0), np.arange(20) % 2)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("size", "l2", "rate"), [(20, 1e-6, 0.1), (33, 1.0, 0.1), (60, 0.01, 0.01)]
)
def test_training_is_that_of_pytorch(size: int, l2: float, rate: float) -> None:
    torch = pytest.importorskip("torch")
    rows, classes, W, orders = make(3, n=70, m=20, d=30, k=6, epochs=20)
    layer = torch.nn.Linear(30, 6, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(W[:-1].T))
        layer.bias.copy_(torch.from_numpy(W[-1]))
    X, y = torch.from_numpy(rows.features[:, :-1]), torch.from_numpy(classes)
    descent = torch.optim.SGD(layer.parameters(), lr=rate, weight_decay=l2)
    for order in orders:
        for batch in torch.from_numpy(order).split(size):
            descent.zero_grad()
            torch.nn.functional.cross_entropy(layer(X[batch]), y[batch]).backward()
            descent.step()
    expected = layer(X).detach().numpy().T
    found = train(rows, W, orders, batch_size=size, l2=l2, rate=rate)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
