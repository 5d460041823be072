"""Softmax regression trained by plain stochastic gradient descent, without its weights.

A model has weights W, a row for each feature and a column for each class; a feature
that is always 1 makes its row the bias. A step on the rows b of a mini-batch is

    W <- W - rate * (X_b^T (P_b - Y_b) / |b| + l2 * W),

with P the predicted probabilities and Y the classes, one-hot: cross-entropy averaged
over the mini-batch, and l2 as weight decay on weights and bias alike, which is what
`torch.optim.SGD(weight_decay=l2)` computes. All that is ever asked of W are the
logits Z = X W of the rows at hand, and these follow a rule of their own:

    Z <- (1 - rate * l2) * Z - rate * K[:, b] (P_b - Y_b) / |b|,      K = X X^T.

K is computed once. With 561 features and about 170 rows to train on this takes less
than half of the time of the steps in W and gives the same model. Classes are the rows
of the arrays here, so that sums over six classes are sums of six long rows.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Matrix

Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows to train on, followed by rows that are only scored."""

    features: Matrix
    """A row each; the last feature is 1."""
    products: Matrix
    """Inner products of the rows to train on with all rows."""
    targets: Matrix
    """Classes of the rows to train on, one-hot: a column each."""

    @classmethod
    def of(
        cls, training: Matrix, others: Matrix, classes: Whole, num_classes: int
    ) -> "Rows":
        """Return the rows, standardised by those to train on.

        Args:
            training: Features of the rows to train on.
            others: Features of the other rows.
            classes: Classes of the rows to train on, from 0.
            num_classes: Number of classes.
        """
        mean, std = training.mean(axis=0), training.std(axis=0)
        # A feature that never changes becomes zero, also where rounding moved it.
        is_constant = std <= 1e-6 * np.maximum(np.abs(mean), 1e-6)
        scale = np.where(is_constant, 0.0, 1.0 / np.where(is_constant, 1.0, std))
        X = (np.vstack([training, others]) - mean) * scale
        X = np.column_stack([X, np.ones(len(X))])
        return cls(
            features=X,
            products=X[: len(training)] @ X.T,
            targets=(np.arange(num_classes)[:, None] == classes).astype(np.float64),
        )

    @property
    def num_training(self) -> int:
        """Number of rows to train on."""
        return self.targets.shape[1]


def train(
    rows: Rows,
    weights: Matrix,
    orders: Whole,
    *,
    batch_size: int,
    l2: float,
    rate: float,
) -> Matrix:
    """Return the logits of all rows after training, a column each.

    Args:
        rows: Rows to train on and rows to score.
        weights: Initial weights, the bias in the last row.
        orders: An order of the rows to train on for each epoch.
        batch_size: Rows of a mini-batch; the last one of an epoch may be smaller.
        l2: Weight decay.
        rate: Learning rate.
    """
    Z: Matrix = (rows.features @ weights).T.copy()
    keep = 1.0 - rate * l2
    for order in orders:
        targets = rows.targets[:, order]
        for start in range(0, rows.num_training, batch_size):
            batch: Whole = order[start : start + batch_size]
            R: Matrix = Z.take(batch, axis=1)
            np.subtract(R, np.maximum.reduce(R, axis=0), out=R)
            np.exp(R, out=R)
            np.divide(R, np.add.reduce(R, axis=0), out=R)  # P
            np.subtract(R, targets[:, start : start + batch_size], out=R)
            np.multiply(R, rate / batch.size, out=R)
            np.multiply(Z, keep, out=Z)
            np.subtract(Z, R @ rows.products.take(batch, axis=0), out=Z)
    return Z
