"""A two-layer graph convolutional network under FedAvg, in NumPy and SciPy.

    H = relu(A X W1 + b1), with dropout while training;  logits = A H W2 + b2

X is sparse and stays so: A (X W) takes a fraction of the work of (A X) W. Evaluation
and the first local step of all clients use the same weights, hence one product X W1.

References:
    T. Kipf, M. Welling, ICLR 2017 (network); B. McMahan et al., AISTATS 2017 (FedAvg).
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from fedhpo_graph import Part


class Weights(NamedTuple):
    """Parameters of the network."""

    w1: np.ndarray
    b1: np.ndarray
    w2: np.ndarray
    b2: np.ndarray


class Config(NamedTuple):
    """What is tuned."""

    dropout: float
    lr: float
    step: int
    wd: float


class Outcome(NamedTuple):
    """What one training came to, at the round with the lowest validation loss."""

    val_acc: float
    val_loss: float
    test_acc: float
    best_round: int
    """0 for the untrained network."""
    num_rounds: int


def initial_weights(
    num_features: int, hidden: int, num_classes: int, rng, dtype: type = np.float32
) -> Weights:
    """Draw weights as Glorot and Bengio (2010) do, uniform; biases are 0."""

    def glorot(rows: int, columns: int) -> np.ndarray:
        bound = np.sqrt(6.0 / (rows + columns))
        return rng.uniform(-bound, bound, (rows, columns)).astype(dtype)

    return Weights(
        glorot(num_features, hidden),
        np.zeros(hidden, dtype),
        glorot(hidden, num_classes),
        np.zeros(num_classes, dtype),
    )


def before_relu(part: Part, weights: Weights, xw: np.ndarray | None) -> np.ndarray:
    """Return A X W1 + b1, from X W1 of the whole graph where it is known."""
    z = part.first @ (part.features @ weights.w1) if xw is None else part.wide @ xw
    z += weights.b1
    return z


def logits_of(part: Part, weights: Weights, xw: np.ndarray | None = None) -> np.ndarray:
    """Return the scores of the part's nodes, without dropout."""
    z = before_relu(part, weights, xw)
    np.maximum(z, 0.0, out=z)
    return part.second @ (z @ weights.w2) + weights.b2


def loss_of(logits: np.ndarray, labels: np.ndarray) -> float:
    """Return the mean cross-entropy."""
    top = logits.max(axis=1, keepdims=True)
    norm = np.log(np.exp(logits - top).sum(axis=1)) + top[:, 0]
    return float(np.mean(norm - logits[np.arange(len(labels)), labels]))


def accuracy_of(logits: np.ndarray, labels: np.ndarray) -> float:
    """Return the share of nodes whose largest score is that of their class."""
    return float(np.mean(logits.argmax(axis=1) == labels))


def gradient(
    part: Part,
    weights: Weights,
    dropout: float,
    rng: np.random.Generator | None,
    xw: np.ndarray | None = None,
) -> Weights:
    """Return the gradient of the mean cross-entropy over the part's nodes.

    The share of hidden units that is dropped is a multiple of 1/256; it is exact for
    0 and 0.5. Without dropout no random number is drawn.
    """
    h = before_relu(part, weights, xw)
    # No unit left out: a factor that is 0 where a unit is off or dropped.
    on = h > 0.0
    scale = 1.0
    if (threshold := round(256 * dropout)) > 0:
        assert rng is not None
        noise = np.frombuffer(rng.bytes(h.size), np.uint8).reshape(h.shape)
        on &= noise >= threshold
        scale = 256 / (256 - threshold)
    h *= on
    if scale != 1.0:
        h *= h.dtype.type(scale)
    logits = part.second @ (h @ weights.w2) + weights.b2
    logits -= logits.max(axis=1, keepdims=True)
    d = np.exp(logits, out=logits)
    d /= d.sum(axis=1, keepdims=True)
    d[np.arange(len(d)), part.labels] -= 1.0
    d /= len(d)
    ds = part.second.T @ d
    dz = ds @ (weights.w2.T * d.dtype.type(scale))
    dz *= on
    return Weights(
        part.features.T @ (part.first.T @ dz), dz.sum(axis=0), h.T @ ds, d.sum(axis=0)
    )


def local_training(
    part: Part,
    weights: Weights,
    config: Config,
    rng: np.random.Generator,
    xw: np.ndarray | None = None,
) -> Weights:
    """Return the weights after a client's local steps on its whole graph."""
    for _ in range(config.step):
        g = gradient(part, weights, config.dropout, rng, xw)
        xw = None
        keep = 1.0 - config.lr * config.wd
        new: list[np.ndarray] = []
        for w, dw in zip(weights, g, strict=True):
            dw *= dw.dtype.type(-config.lr)
            dw += w if keep == 1.0 else w * w.dtype.type(keep)
            new.append(dw)
        weights = Weights(*new)
    return weights


def one_round(
    clients: list[Part],
    weights: Weights,
    config: Config,
    rng: np.random.Generator,
    xw: np.ndarray | None = None,
) -> Weights:
    """Return the clients' results, averaged by their numbers of training nodes."""
    sizes = np.array([len(c.labels) for c in clients], dtype=float)
    total: list[np.ndarray] | None = None
    for client, share in zip(clients, sizes / sizes.sum(), strict=True):
        if share == 0.0:
            continue
        new = local_training(client, weights, config, rng, xw)
        for w in new:
            w *= w.dtype.type(share)
        total = (
            list(new)
            if total is None
            else [np.add(a, b, out=a) for a, b in zip(total, new, strict=True)]
        )
    assert total is not None
    return Weights(*total)


def train(
    features: sp.csr_matrix,
    clients: list[Part],
    val: Part,
    test: Part,
    weights: Weights,
    config: Config,
    rng: np.random.Generator,
    num_rounds: int = 500,
    patience: int = 100,
) -> Outcome:
    """Train until the rounds or the patience are used up.

    Args:
        features: Features of the whole graph.
        clients: The training nodes of each client, in its own subgraph.
        val: The validation nodes in the whole graph.
        test: The test nodes in the whole graph.
        weights: The first weights.
        config: What is tuned.
        rng: Decides which hidden units are dropped.
        num_rounds: At most so many rounds.
        patience: Rounds without a lower validation loss before training ends.
    """
    xw = features @ weights.w1
    scores = logits_of(val, weights, xw)
    best = loss_of(scores, val.labels), accuracy_of(scores, val.labels), 0, weights
    done = 0
    # A network that has left the numbers does not come back; its loss is no number,
    # hence never the lowest.
    with np.errstate(over="ignore", invalid="ignore"):
        for done in range(1, num_rounds + 1):
            weights = one_round(clients, weights, config, rng, xw)
            xw = features @ weights.w1
            scores = logits_of(val, weights, xw)
            loss = loss_of(scores, val.labels)
            if loss < best[0]:
                best = loss, accuracy_of(scores, val.labels), done, weights
            if done - best[2] >= patience or not np.isfinite(loss):
                break
    loss, accuracy, at, weights = best
    test_acc = accuracy_of(logits_of(test, weights), test.labels)
    return Outcome(accuracy, loss, test_acc, at, done)
