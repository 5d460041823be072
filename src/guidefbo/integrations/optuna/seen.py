"""A study's trials as an agent sees them, and how they get into its file."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from optuna import Study
from optuna.trial import FrozenTrial
from optuna.trial import TrialState as OptunaState

from guidefbo.agent.dataset import MAX_VALUE
from guidefbo.core.errors import SpaceError
from guidefbo.integrations.optuna.axes import Axes
from guidefbo.site.agent import Agent
from guidefbo.site.setup import Setup
from guidefbo.site.trial import Origin, Record, Trial, TrialState

ASKED = "guidefbo:asked"
"""Attribute of a trial: the values that were asked, before they are suggested.

They are the sampler's internal ones: of Optuna's own distributions an option is its
position as text, and a value in steps the number of its step.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One of Optuna's trials as an agent sees it."""

    values: Mapping[str, Any]
    """By the agent's names."""
    origin: Origin = Origin.OWN
    """Where the point comes from."""
    state: TrialState = TrialState.PENDING
    """Pending, done or failed."""
    value: float | None = None
    """What was observed."""
    failed: str | None = None
    """Why nothing was."""

    @property
    def point(self) -> Hashable:
        """What two trials of the same values have in common."""
        return tuple(self.values.items())

    @classmethod
    def of(cls, trial: FrozenTrial, axes: Axes) -> "Seen":
        """Return what an agent sees of a trial; `SpaceError` where that is nothing."""
        asked = asked_of(trial)
        origin = asked.get("origin")
        origin = Origin(origin) if origin in list(Origin) else Origin.OWN
        if not trial.state.is_finished():
            # Other workers' points count before their objective has read them.
            fixed = trial.system_attrs.get("fixed_params")
            values = asked.get("values", {}) | axes.known(fixed, trial.params)
            return cls(values=axes.whole(values), origin=origin)
        values = axes.whole(axes.known(trial.params))
        value = trial.value if trial.state == OptunaState.COMPLETE else None
        if value is not None and abs(value) <= MAX_VALUE:
            state = TrialState.DONE
            return cls(values=values, origin=origin, state=state, value=value)
        reason = str(trial.state.name).lower() if value is None else f"value {value}"
        state = TrialState.FAILED
        return cls(values=values, origin=origin, state=state, failed=reason)


def seen_in(trials: Sequence[FrozenTrial], axes: Axes) -> list[Seen]:
    """Return what an agent sees of a study's trials, in the order of their numbers."""
    seen: list[Seen] = []
    for trial in trials:
        # Some are of another space, or not far enough to have all values.
        with suppress(SpaceError):
            seen.append(Seen.of(trial, axes))
    return seen


def asked_of(trial: FrozenTrial) -> dict[str, Any]:
    """Return what was asked for a trial, empty where nothing readable is kept."""
    form = trial.system_attrs.get(ASKED)
    form = cast(dict[str, Any], form) if isinstance(form, dict) else {}
    return form if isinstance(form.get("values"), dict) else {}


def remember(study: Study, trial: FrozenTrial, form: dict[str, Any]) -> None:
    """Show other workers the point before the objective has read it."""
    storage = study._storage  # pyright: ignore[reportPrivateUsage]
    identity = trial._trial_id  # pyright: ignore[reportPrivateUsage]
    storage.set_trial_system_attr(identity, ASKED, form)


def entered(seen: Sequence[Seen], setup: Setup) -> list[Trial]:
    """Return Optuna's trials as an agent's, in the order of their numbers."""
    num_told = sum(s.state != TrialState.PENDING for s in seen)
    told, trials = 0, list[Trial]()
    for k, s in enumerate(seen, start=1):
        state, records = s.state, ()
        if state == TrialState.PENDING:
            # Its worker may be gone: after many later results it is given up.
            is_late = num_told - told >= setup.expire_after
            state = TrialState.EXPIRED if is_late else state
        else:
            told += 1
            records = (Record(order=told, value=s.value, failed=s.failed),)
        trials.append(
            Trial(
                id=k,
                values=dict(s.values),
                goal=setup.goal,
                origin=s.origin,
                due_at=told + 1,
                state=state,
                records=records,
            )
        )
    return trials


def tell_file(file: Path, seen: Sequence[Seen]) -> Agent:
    """Enter what an agent's file does not have yet; return the agent."""
    agent = Agent.load(file)
    if not _new_in(seen, agent):
        return agent
    with Agent.update(file) as agent:
        for s in _new_in(seen, agent):
            if s.state == TrialState.PENDING:
                agent.begin(s.values)
            else:
                agent.tell(s.values, s.value, failed=s.failed)
    return agent


def _new_in(seen: Sequence[Seen], agent: Agent) -> list[Seen]:
    """Return what an agent does not have, each as often as it lacks it.

    A result is known by its values and its outcome: telling again after a crash, from
    another process or from a study that was copied enters nothing twice. What was told
    and has been corrected in the file since is known too.
    """
    held: dict[Hashable, list[Trial]] = defaultdict(list)
    points: Counter[Hashable] = Counter()
    for trial in agent.trials:
        point = tuple(trial.values.items())
        points[point] += 1
        if trial.state in (TrialState.DONE, TrialState.FAILED):
            held[point].append(trial)
    new: list[Seen] = []
    for s in sorted(seen, key=lambda s: s.state == TrialState.PENDING):
        is_known = points[s.point] > 0
        if s.state != TrialState.PENDING:
            trial = _told_as(s.value, held[s.point])
            is_known = trial is not None
            if trial is not None:
                held[s.point].remove(trial)
        # What is new answers the open trial of these values, if there is one.
        points[s.point] -= points[s.point] > 0
        if not is_known:
            new.append(s)
    return new


def _told_as(value: float | None, trials: Sequence[Trial]) -> Trial | None:
    """Return the trial of which this was told, as it counts now or before."""
    as_now = [trial for trial in trials if trial.value == value]
    before = [t for t in trials if any(r.value == value for r in t.records)]
    return next(iter([*as_now, *before]), None)
