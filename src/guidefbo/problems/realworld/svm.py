"""The area under the curve of a support vector machine, as a function of C and gamma.

Everything that does not depend on C and gamma is computed once: the halves and folds of
the data, their standardised features, and the squared distances D between rows. An
evaluation then trains on the kernel matrix exp(-gamma D). The values are those of a
pipeline of StandardScaler, SVC and roc_auc_score, in about a quarter of its time.

scikit-learn is loaded here and only when a problem asks for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Matrix, Others, OtherValues, Points, Values
from guidefbo.core.errors import FedBOError

Rows = NDArray[np.intp]
"""Numbers of rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """Rows to train on, rows to score, and the distances between them."""

    distances: Matrix
    """Squared distances between the rows to train on."""
    labels: Values
    """Their labels, 0 or 1."""
    other_distances: Matrix
    """Squared distances from the rows to score to those to train on."""
    other_labels: OtherValues
    """Labels of the rows to score."""

    def area(self, C: float, gamma: float) -> float:
        """Return the area under the curve of the machine trained here."""
        learn = load("sklearn")
        # The distances were checked when they were made, and they are ours.
        with learn.config_context(assume_finite=True, skip_parameter_validation=True):
            machine: Any = load("sklearn.svm").SVC(C=C, kernel="precomputed")
            machine.fit(np.exp(-gamma * self.distances), self.labels)
        kernel = np.exp(-gamma * self.other_distances[:, machine.support_])
        # With the intercept, although it moves all scores alike: where a row is far
        # from all others its kernel is lost in rounding, and rows then tie.
        scores = kernel @ machine.dual_coef_[0] + machine.intercept_[0]
        return area_under_curve(self.other_labels, scores)


@dataclass(frozen=True, slots=True)
class MeanArea:
    """Mean area under the curve over folds: a function of values by name."""

    folds: tuple[Fold, ...]
    """The folds, the same for every evaluation."""

    def __call__(self, values: Mapping[str, Any]) -> float:
        """Return the mean of the folds at `C` and `gamma`."""
        C, gamma = float(values["C"]), float(values["gamma"])
        return float(np.mean([fold.area(C, gamma) for fold in self.folds]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Refitted:
    """Area under the curve on rows that no fold has seen, trained on all others."""

    features: Points
    """Rows to train on."""
    labels: Values
    """Their labels, 0 or 1."""
    other_features: Others
    """Rows to score."""
    other_labels: OtherValues
    """Their labels."""

    def __call__(self, values: Mapping[str, Any]) -> float:
        """Return the area at `C` and `gamma`."""
        fold = make_fold(
            self.features, self.labels, self.other_features, self.other_labels
        )
        return fold.area(float(values["C"]), float(values["gamma"]))


def area_under_curve(labels: Values, scores: Values) -> float:
    """Return the share of pairs, a one and a zero, in which the one scores higher.

    A tie counts half. This is the area under the receiver operating characteristic
    curve (Hanley and McNeil, Radiology 143 (1982) 29-36).

    >>> area_under_curve(np.array([0.0, 1.0, 1.0]), np.array([0.2, 0.2, 0.9]))
    0.75
    """
    ones, zeros = scores[labels == 1.0], np.sort(scores[labels != 1.0])
    below = np.searchsorted(zeros, ones, side="left").sum()
    below_or_tied = np.searchsorted(zeros, ones, side="right").sum()
    return float((below + below_or_tied) / (2 * ones.size * zeros.size))


def make_fold(
    features: Points, labels: Values, other_features: Others, other_labels: OtherValues
) -> Fold:
    """Return a fold, its features standardised by the rows that are trained on.

    Args:
        features: Rows to train on.
        labels: Their labels, 0 or 1.
        other_features: Rows to score.
        other_labels: Their labels.
    """
    scaler: Any = load("sklearn.preprocessing").StandardScaler().fit(features)
    rows, others = scaler.transform(features), scaler.transform(other_features)
    return Fold(
        distances=_squared_distances(rows, rows),
        labels=labels,
        other_distances=_squared_distances(others, rows),
        other_labels=other_labels,
    )


def make_folds(features: Points, labels: Values, count: int) -> tuple[Fold, ...]:
    """Return scikit-learn's shuffled stratified folds of seed 0."""
    kind: Any = load("sklearn.model_selection").StratifiedKFold
    folds: Any = kind(count, shuffle=True, random_state=0).split(features, labels)
    return tuple(
        make_fold(features[rows], labels[rows], features[others], labels[others])
        for rows, others in folds
    )


def split_in_halves(labels: Values) -> tuple[Rows, Rows]:
    """Return the rows of scikit-learn's stratified halves of seed 0."""
    split: Any = load("sklearn.model_selection").train_test_split
    rows = np.arange(labels.size)
    first, second = split(rows, test_size=0.5, stratify=labels, random_state=0)
    return first, second


def load(name: str) -> Any:
    """Return a module of scikit-learn, or say how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise FedBOError(
            "This problem trains models with scikit-learn, which is not installed. "
            "Install it with: pip install 'guidefbo[tasks]'"
        ) from error


def _squared_distances(rows: Matrix, others: Matrix) -> Matrix:
    from scipy.spatial.distance import cdist

    return cdist(rows, others, "sqeuclidean")
