"""The messages of the fmtbo strategy: hyperparameters and ranks up.

Down come averaged hyperparameters, from which the global fit starts.

With m ranked probes: d+1+m scalars up and d+1 down; 2+m and 2 where one lengthscale
stands for all; one more each way where the constant mean is shared as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Point, frozen_array
from guidefbo.core.checks import is_whole_number, shown
from guidefbo.core.errors import WireError
from guidefbo.wire import entries
from guidefbo.wire.entries import require_fields

MIN_SCALE, MAX_SCALE = 1e-9, 1e9
"""Lengthscales and output scales lie here: far wider than the box of any fit."""
MAX_MEAN = 1e100
"""Largest constant mean in size, that of the largest observation."""
MAX_PROBES = 5000
"""Most ranks in an upload: the server compares them pair by pair."""

FIELDS = frozenset({"lengthscales", "outputscale", "mean"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedHyperparameters:
    """What agents tell each other of a fitted model."""

    lengthscales: Point
    """(d,), or (1,) where one stands for all."""
    outputscale: float
    """Prior variance."""
    mean: float | None = None
    """Constant prior mean, None where it stays private."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengthscales", frozen_array(self.lengthscales))
        ell = self.lengthscales
        if ell.ndim != 1 or len(ell) == 0:
            raise WireError(
                "lengthscales must be a vector of one per coordinate or one for all, "
                f"got shape {ell.shape}."
            )
        if not ((ell >= MIN_SCALE) & (ell <= MAX_SCALE)).all():
            raise WireError(
                f"lengthscales must be finite numbers in [{MIN_SCALE:g}, "
                f"{MAX_SCALE:g}], got {shown(ell.tolist())}."
            )
        entries.number(self.outputscale, "outputscale", MIN_SCALE, MAX_SCALE)
        if self.mean is not None:
            entries.number(self.mean, "mean", -MAX_MEAN, MAX_MEAN)

    @property
    def dim(self) -> int:
        """Number of lengthscales."""
        return len(self.lengthscales)

    def to_fields(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {
            "lengthscales": self.lengthscales.tolist(),
            "outputscale": float(self.outputscale),
            "mean": None if self.mean is None else float(self.mean),
        }

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """Check the fields and build the value."""
        m = fields["mean"]
        return cls(
            lengthscales=entries.array(fields["lengthscales"], "lengthscales", ndim=1),
            outputscale=entries.number(
                fields["outputscale"], "outputscale", MIN_SCALE, MAX_SCALE
            ),
            mean=None if m is None else entries.number(m, "mean", -MAX_MEAN, MAX_MEAN),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUpload:
    """One agent's global surrogate: its hyperparameters and how it ranks the probes."""

    KIND: ClassVar[str] = "fmtbo.upload"

    hyper: SharedHyperparameters
    """Of the global surrogate."""
    ranks: NDArray[np.int64]
    """(m,) a permutation of 0..m-1: the lowest posterior mean has rank 0."""

    def __post_init__(self) -> None:
        ranks = np.array(self.ranks)
        if ranks.dtype.kind not in "iu" or ranks.ndim != 1:
            raise WireError(
                "ranks must be a vector of whole numbers, got an array of "
                f"{ranks.dtype} with shape {ranks.shape}."
            )
        ranks = ranks.astype(np.int64)
        m = len(ranks)
        if not 1 <= m <= MAX_PROBES or (np.sort(ranks) != np.arange(m)).any():
            raise WireError(
                f"ranks must hold every number from 0 to m-1 once, m at most "
                f"{MAX_PROBES}, got {shown(ranks.tolist())}."
            )
        ranks.setflags(write=False)
        object.__setattr__(self, "ranks", ranks)

    def to_body(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {**self.hyper.to_fields(), "ranks": self.ranks.tolist()}  # E69

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Self:
        """Check the fields and build the message."""
        require_fields(body, {*FIELDS, "ranks"}, "an upload")
        return cls(
            hyper=SharedHyperparameters.from_fields(body),
            ranks=_whole_numbers(body["ranks"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPacket:
    """Where the receiver's global surrogate starts: an average of similar agents."""

    KIND: ClassVar[str] = "fmtbo.packet"

    hyper: SharedHyperparameters
    """Of the agents that rank the probes most alike."""

    def to_body(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return self.hyper.to_fields()  # E69

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Self:
        """Check the fields and build the message."""
        require_fields(body, {*FIELDS}, "a packet")
        return cls(hyper=SharedHyperparameters.from_fields(body))


def _whole_numbers(value: Any) -> NDArray[np.int64]:
    # Compared before they become an array: no number of any size overflows.
    items = cast(list[Any], value) if isinstance(value, list) else []
    is_valid = 1 <= len(items) <= MAX_PROBES and all(
        is_whole_number(item) and 0 <= item < len(items) for item in items
    )
    if not is_valid:
        raise WireError(
            "ranks must be a list of whole numbers from 0 to m-1, m of them and at "
            f"most {MAX_PROBES}, got {shown(value)}."
        )
    return np.array(items, dtype=np.int64)
