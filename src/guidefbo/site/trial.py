"""A trial: one point, asked or brought by the site, and all that was told of it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NoReturn, cast

from guidefbo.agent.dataset import MAX_VALUE
from guidefbo.core.checks import is_finite_number, is_plain_text, plain, shown
from guidefbo.core.errors import DataError


class TrialState(StrEnum):
    """Where a trial stands."""

    PENDING = "pending"
    """Asked, nothing told yet."""
    DONE = "done"
    """A value was told."""
    FAILED = "failed"
    """A failure was told."""
    ABANDONED = "abandoned"
    """Given up by the site; a late value is still welcome."""
    EXPIRED = "expired"
    """Many later results arrived and this one did not; it is still welcome."""


class Origin(StrEnum):
    """Where a trial's point comes from."""

    DESIGN = "design"
    """The initial design."""
    MODEL = "model"
    """The decision rule."""
    FALLBACK = "fallback"
    """Space filling, where the model could not be used."""
    OWN = "own"
    """The site's own; it was never asked."""


class Values(dict[str, Any]):
    """A dict of parameter values that cannot be changed; `dict(values)` can."""

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("A trial's values cannot be changed; change dict(values).")

    __setitem__ = __delitem__ = __ior__ = cast(Any, _refuse)
    update = setdefault = pop = popitem = clear = cast(Any, _refuse)

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies, and trials sent to another process, are built whole.
        return type(self), (dict(self),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One thing told of a trial. Records are only ever added."""

    order: int
    """Position among everything told to the agent, from 1."""
    value: float | None = None
    """The observed value in the site's units, None for a failure."""
    std: float | None = None
    """Its known standard deviation, None where it is not known."""
    failed: str | None = None
    """Why the evaluation failed, None where it did not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One point of the search space and what became of it."""

    id: int
    """Number within the agent, from 1."""
    values: dict[str, Any]
    """Parameter values, in the site's units; read only."""
    goal: str
    """What the agent is after: max or min."""
    origin: Origin
    """Where the point comes from."""
    guided: bool = False
    """Whether guidance from other sites took part in choosing it."""
    due_at: int = 0
    """How many things will have been told once this and all pending trials are back."""
    state: TrialState = TrialState.PENDING
    """Where it stands."""
    records: tuple[Record, ...] = ()
    """Everything told of it, corrections included, the newest last."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", Values(self.values))

    @property
    def value(self) -> float | None:
        """The newest value told, None while there is none or where it failed."""
        return self.records[-1].value if self.records else None

    @property
    def std(self) -> float | None:
        """The known standard deviation of that value."""
        return self.records[-1].std if self.records else None

    @property
    def failed(self) -> str | None:
        """Why it failed, None where it did not."""
        return self.records[-1].failed if self.records else None

    def __str__(self) -> str:
        values = ", ".join(f"{k}={shown_value(v)}" for k, v in self.values.items())
        return f"trial {self.id} ({self.state}, goal {self.goal}): {values}{self._end}"

    def _repr_html_(self) -> str:
        from guidefbo.site.display import trials_html

        return trials_html([self])

    @property
    def _end(self) -> str:
        if self.value is not None:
            spread = "" if self.std is None else f" ± {self.std:.3g}"
            return f" -> {self.value:.6g}{spread}"
        return "" if self.failed is None else f" -> failed: {self.failed}"


def shown_value(value: Any) -> str:
    """Return a parameter's value for people: six digits of a number."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """What an agent would recommend now."""

    goal: str
    """What it is after: max or min."""
    trial: Trial
    """The observed point of best posterior mean."""
    mean: float
    """That mean, in the site's units."""
    std: float | None
    """Its standard deviation, None while the results show no scale to measure by."""
    observed: Trial
    """The trial with the best single observation, lucky or not."""

    @property
    def values(self) -> dict[str, Any]:
        """Parameter values of the recommendation."""
        return self.trial.values

    @property
    def value(self) -> float:
        """The posterior mean there."""
        return self.mean

    def __str__(self) -> str:
        values = ", ".join(f"{k}={shown_value(v)}" for k, v in self.values.items())
        spread = "" if self.std is None else f" ± {self.std:.3g}"
        return (
            f"best by posterior mean (goal {self.goal}): trial {self.trial.id}, "
            f"{self.mean:.6g}{spread} at {values}\n"
            f"best single observation: trial {self.observed.id}, "
            f"{self.observed.value:.6g}"
        )


def one_line(reason: str) -> str:
    """Return a reason, say a traceback, with its lines one after the other."""
    if is_plain_text(reason):
        return reason
    return " ".join(part for line in reason.splitlines() for part in line.split())


def check_told(value: Any, std: Any, failed: Any) -> None:
    """Refuse what is neither a finite value nor a failure."""
    value, std = plain(value), plain(std)
    if failed is not None:
        if value is not None or std is not None or not isinstance(failed, str):
            raise DataError(
                "Expected either a value or failed='reason', got "
                f"value={shown(value)}, std={shown(std)}, failed={shown(failed)}."
            )
        if not is_plain_text(one_line(failed)):
            raise DataError(
                "Expected a reason that can be printed, without control characters, "
                f"got failed={shown(failed)}."
            )
        return
    if not is_finite_number(value) or abs(value) > MAX_VALUE:
        raise DataError(
            f"Expected a finite number of at most {MAX_VALUE:g} in size, got "
            f"{shown(value)}. Where an evaluation failed, tell failed='reason'."
        )
    if std is not None and not (is_finite_number(std) and 0.0 <= std <= MAX_VALUE):
        raise DataError(
            f"Expected a standard deviation of at least 0 or none, got {shown(std)}."
        )
