"""A trial: one point, asked or brought by the site, and all that was told of it."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NoReturn, cast

from guidefbo.agent.dataset import MAX_VALUE
from guidefbo.agent.record import Forecasts
from guidefbo.core.checks import is_finite_number, is_plain_text, plain, shown
from guidefbo.core.errors import DataError
from guidefbo.site.labels import Labels


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
class Basis:
    """What a question of the model rested on when it was asked."""

    mean: float
    """What the site's own model expected there, in the site's units."""
    std: float
    """How far from that a result was to be expected, its noise included."""
    num_uploads: int | None = None
    """Of how many sites' uploads the packet in use was made; None: none was in use."""
    round: int | None = None
    """The exchange that packet was made in, as its coordinator counts."""
    alone: dict[str, Any] | None = None
    """What would have been asked without that packet, None where that is not known."""
    odds: float | None = None
    """How likely the own data made the model of the others; None: not compared."""
    told: int = 0
    """How many things had been told: questions of one batch share a round."""
    foretold: Forecasts | None = None
    """What the model of the others and the own data alone expected, in the site's
    units; None: not compared."""

    def __post_init__(self) -> None:
        if self.alone is not None:
            object.__setattr__(self, "alone", Values(self.alone))


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
    values: dict[str, Any] | None = None
    """What was really run, every parameter; None: what was asked."""
    outcomes: dict[str, float] = field(default_factory=dict[str, float])
    """Further outcomes that were measured, by name."""
    told_at: str | None = field(default=None, compare=False)
    """When it was told, by this machine's clock; nothing depends on it."""

    def __post_init__(self) -> None:
        if self.values is not None:
            object.__setattr__(self, "values", Values(self.values))
        object.__setattr__(self, "outcomes", Values(self.outcomes))

    @property
    def told(self) -> tuple[Any, ...]:
        """All of it but the order: who tells the same again changes nothing."""
        return self.value, self.std, self.failed, self.values, self.outcomes


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One point of the search space and what became of it."""

    id: int
    """Number within the agent, from 1."""
    values: dict[str, Any]
    """Parameter values as they were asked, in the site's units; read only."""
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
    basis: Basis | None = None
    """What the model expected when it asked, None where it did not ask."""
    asked_at: str | None = field(default=None, compare=False)
    """When it was asked or brought, by this machine's clock; nothing depends on it."""

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
    def outcomes(self) -> dict[str, float]:
        """Further outcomes that were measured, by name; read only."""
        return self.records[-1].outcomes if self.records else Values()

    @property
    def failed(self) -> str | None:
        """Why it failed, None where it did not."""
        return self.records[-1].failed if self.records else None

    @property
    def as_run(self) -> dict[str, Any]:
        """The values that were really run, as far as the site has told; read only."""
        run = self.records[-1].values if self.records else None
        return self.values if run is None else run

    def _repr_html_(self) -> str:
        from guidefbo.site.display import trials_html

        return trials_html([self])

    @property
    def changed(self) -> dict[str, Any]:
        """What was asked of the parameters that were run at another value, by name."""
        run = self.as_run
        return {name: v for name, v in self.values.items() if run[name] != v}

    def text(self, labels: Labels) -> str:
        """Return the trial in one line, with names and units."""
        changed = self.changed
        values = ", ".join(
            f"{name}={labels.one(name, v)}"
            + (f" (asked {labels.one(name, changed[name])})" if name in changed else "")
            for name, v in self.as_run.items()
        )
        end = "" if self.failed is None else f" -> failed: {self.failed}"
        if self.value is not None:
            end = f" -> {labels.outcome(self.value, self.std)}"
            end += "".join(
                f", {labels.measured(name, v)}" for name, v in self.outcomes.items()
            )
        return f"trial {self.id} ({self.state}, goal {self.goal}): {values}{end}"

    def __str__(self) -> str:
        return self.text(Labels())


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
    keeps_limits: bool = True
    """Whether both keep the limits of all outcomes, as they were measured."""
    observed_was_lucky: bool = False
    """Whether the models expect the best single observation beyond a limit."""

    @property
    def values(self) -> dict[str, Any]:
        """Parameter values of the recommendation, as they were run."""
        return self.trial.as_run

    @property
    def value(self) -> float:
        """The posterior mean there."""
        return self.mean

    def text(self, labels: Labels) -> str:
        """Return the recommendation in two lines, with names and units."""
        observed = self.observed.value
        assert observed is not None  # it is done
        none = "no result keeps the limits yet; " if not self.keeps_limits else ""
        lucky = ", but the models expect it beyond a limit"
        return none + (
            f"best by posterior mean (goal {self.goal}): trial {self.trial.id}, "
            f"{labels.outcome(self.mean, self.std)} at {labels.values(self.values)}\n"
            f"best single observation: trial {self.observed.id}, "
            f"{labels.outcome(observed)}{lucky if self.observed_was_lucky else ''}"
        )

    def __str__(self) -> str:
        return self.text(Labels())


def now() -> str:
    """Return this machine's time as text, in UTC and to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


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
            f"{shown(value)}. Where an evaluation failed, tell failed='reason' (in a "
            "command: --failed 'reason')."
        )
    if std is not None and not (is_finite_number(std) and 0.0 <= std <= MAX_VALUE):
        raise DataError(
            f"Expected a standard deviation from 0 to {MAX_VALUE:g} or none, got "
            f"{shown(std)}."
        )


def require_reason(failed: str | None) -> None:
    """Refuse a blank reason: a table could not tell it from none.

    Files may hold one that was told before.
    """
    if failed is not None and not failed.strip():
        raise DataError(
            f"Expected the reason of a failure, got failed={shown(failed)}. Say why, "
            "as in failed='pump broke'."
        )
