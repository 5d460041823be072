"""Activity recognition: 30 people, each with a classifier of their own to tune.

Every subject tunes batch size, l2 and learning rate of a softmax regression that tells
six activities apart by 561 features of a phone's motion sensors. The objective is the
accuracy on one half of the subject's windows after 100 epochs on the other half.

A query trains a fresh model. Its initial weights and the orders of its rows are drawn
from a stream that is addressed by seed, subject and configuration: the objective is
random from one configuration to the next, as in the paper, and the same whenever one
is asked for again.

References:
    Dai, Low and Jaillet, Federated Bayesian optimization via Thompson sampling, 2020
    (the task).
    The paper, appendix, "Activity Recognition Using Mobile Phone Sensors".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.errors import DataError
from guidefbo.core.space.parameters import Float, Int
from guidefbo.core.space.space import Space
from guidefbo.core.streams import Streams
from guidefbo.problems.datasets.find import find_dataset
from guidefbo.problems.own import Tasks
from guidefbo.problems.realworld.har import NUM_CLASSES, Recordings, read_har
from guidefbo.problems.realworld.softmax import Rows, train

NUM_EPOCHS = 100

Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Accuracy of one subject's classifier: a function of values by name."""

    rows: Rows
    """Windows to train on, followed by those to score."""
    classes: Whole
    """Activities of the windows to score."""
    streams: Streams
    """Streams of the repetition."""
    subject: int
    """Number of the subject."""

    def __call__(self, values: Mapping[str, Any]) -> float:
        """Return the accuracy at `batch_size`, `l2` and `learning_rate`."""
        size, l2 = int(values["batch_size"]), float(values["l2"])
        rate = float(values["learning_rate"])
        weights, orders = self.start(size, l2, rate)
        logits = train(self.rows, weights, orders, batch_size=size, l2=l2, rate=rate)
        found = np.argmax(logits[:, self.rows.num_training :], axis=0)
        return float(np.mean(np.equal(found, self.classes)))

    def start(
        self, batch_size: int, l2: float, rate: float
    ) -> tuple[NDArray[np.float64], Whole]:
        """Return the initial weights of a configuration and the orders of its rows.

        Weights and bias are uniform within 1 / sqrt(number of features), as those of
        a new linear layer in PyTorch.
        """
        # Six digits: the last bits of a logarithmic scale differ between systems.
        key = f"activity {batch_size} {l2:.6g} {rate:.6g}"
        rng = self.streams.at(key, agent=self.subject)
        num_inputs = self.rows.features.shape[1]
        bound = (num_inputs - 1) ** -0.5
        weights = rng.uniform(-bound, bound, size=(num_inputs, NUM_CLASSES))
        sorted_rows = np.tile(np.arange(self.rows.num_training), (NUM_EPOCHS, 1))
        return weights, rng.permuted(sorted_rows, axis=1)


def activity(seed: int = 0) -> Tasks:
    """Return the tasks of the 30 subjects.

    Args:
        seed: Seed of the repetition: it splits every subject's windows in halves, and
            draws the initial weights and the mini-batches.
    """
    recordings = read_har(find_dataset("har"))
    streams = Streams(seed)
    subjects = [int(s) for s in np.unique(recordings.subjects)]
    return Tasks(
        Space(
            batch_size=Int(20, 60),
            l2=Float(1e-6, 1, log=True),
            learning_rate=Float(1e-2, 1e-1, log=True),
        ),
        [_accuracy(recordings, streams, subject) for subject in subjects],
        goal="max",
        names=[f"subject-{subject}" for subject in subjects],
        noise=1e-4,
        metric="accuracy",
        settings={"num_paths": 350, "sampler": "exact"},
        source="UCI Human Activity Recognition Using Smartphones (Anguita et al., "
        "ESANN 2013), a softmax regression for each subject",
    )


def split_in_halves(
    classes: Whole, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows of two halves with the same share of each class.

    Where a class has an odd number of rows the halves take the last one in turn.
    """
    halves: tuple[list[NDArray[np.intp]], ...] = ([], [])
    turn = 0
    for each in np.unique(classes):
        rows = rng.permutation(np.flatnonzero(classes == each))
        middle = (rows.size + turn) // 2
        turn ^= rows.size % 2
        halves[0].append(rows[:middle])
        halves[1].append(rows[middle:])
    first, second = (np.sort(np.concatenate(half)) for half in halves)
    return first, second


def _accuracy(recordings: Recordings, streams: Streams, subject: int) -> Accuracy:
    mine = np.flatnonzero(recordings.subjects == subject)
    if mine.size < 2:
        raise DataError(
            f"Subject {subject} must have at least two windows, one for each half, got "
            f"{mine.size}. Fetch the data again: guidefbo data fetch har."
        )
    classes = recordings.activities[mine]
    features = recordings.features[mine].astype(np.float64)
    rows, others = split_in_halves(
        classes, streams.at("activity halves", agent=subject)
    )
    return Accuracy(
        rows=Rows.of(features[rows], features[others], classes[rows], NUM_CLASSES),
        classes=classes[others],
        streams=streams,
        subject=subject,
    )
