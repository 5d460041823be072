"""Optuna: a sampler that decides with a guidefbo agent, alone or among other sites.

    import optuna, guidefbo as gf
    from guidefbo.integrations.optuna import FederatedSampler

    study = optuna.create_study(sampler=FederatedSampler(seed=1))        # alone

    link = gf.connect("site.json", "https://host:8443", code="ABCD-EFGH")
    study = optuna.create_study(sampler=FederatedSampler(link))          # with others

The study's storage is the record. Alone, the next point depends on the study's trials
and the seed only, so that another process goes on where the first one stopped. Linked,
the results go into the agent's file as well, which never leaves the site, and what the
agent makes of them is exchanged.
"""

import secrets
import threading
import warnings
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from optuna import Study
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.samplers import BaseSampler, RandomSampler
from optuna.search_space import intersection_search_space
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial
from optuna.trial import TrialState as OptunaState

from guidefbo.agent.dataset import MAX_VALUE
from guidefbo.core.checks import MAX_SEED, require_count, shown
from guidefbo.core.errors import GuidanceWarning, SettingsError, SpaceError
from guidefbo.core.space.levels import Levels
from guidefbo.core.space.parameters import Bool, Choice, Float, Int, Parameter
from guidefbo.core.space.space import Space
from guidefbo.core.streams import Streams
from guidefbo.methods.default import LONE_METHOD
from guidefbo.methods.record import Method
from guidefbo.site.agent import Agent
from guidefbo.site.setup import Setup
from guidefbo.site.trial import Origin, Record, Trial, TrialState

if TYPE_CHECKING:
    from guidefbo.connect.link import Link, Synced

ASKED = "guidefbo:asked"
"""Attribute of a trial: the values that were asked, before they are suggested."""
NEAR = 1e-6
"""How far from its level a value may be, in steps."""


@dataclass(frozen=True, slots=True)
class _Axis:
    """One parameter, in Optuna's values and in the agent's."""

    parameter: Parameter
    """The agent's."""
    distribution: BaseDistribution | None = None
    """Optuna's; None where the space is the agent's: whether an objective says log=True
    and in which order it lists options is its own affair."""
    is_index: bool = False
    """Whether the agent knows values by their position only."""

    @classmethod
    def of(cls, distribution: BaseDistribution) -> "_Axis | None":
        """Return the axis of a distribution, None of one that an agent cannot have."""
        try:
            match distribution:
                case CategoricalDistribution(choices=choices):
                    if len(choices) == 2 and all(type(c) is bool for c in choices):
                        return cls(Bool(), distribution)
                    # By position: options may be anything, also None.
                    return cls(
                        Choice(*map(str, range(len(choices)))), distribution, True
                    )
                case IntDistribution(low=low, high=high, step=1):
                    return cls(Int(low, high, log=distribution.log), distribution)
                case FloatDistribution(low=low, high=high, step=None):
                    return cls(Float(low, high, log=distribution.log), distribution)
                case IntDistribution() | FloatDistribution():
                    last = round(
                        (distribution.high - distribution.low) / _step(distribution)
                    )
                    return cls(Int(0, last), distribution, True)
                case _:
                    return None
        except SpaceError:
            return None

    def to_site(self, value: Any) -> Any:
        """Return the agent's value for one of Optuna's, or refuse it."""
        if isinstance(self.parameter, Levels):
            value = min(self.parameter.values, key=lambda level: abs(level - value))
        elif self.is_index and isinstance(self.distribution, CategoricalDistribution):
            if value not in self.distribution.choices:
                raise SpaceError(f"Expected an option, got {shown(value)}.")
            value = str(int(self.distribution.to_internal_repr(value)))
        elif self.is_index:
            steps = cast(FloatDistribution | IntDistribution, self.distribution)
            place = (value - steps.low) / _step(steps)
            if abs(place - round(place)) > NEAR:
                raise SpaceError(f"Expected a whole step, got {shown(value)}.")
            value = round(place)
        self.parameter.to_unit(value)
        return self.parameter.clean(value)

    def to_optuna(self, value: Any) -> Any:
        """Return Optuna's value for one of the agent's."""
        if not self.is_index:
            return value
        if isinstance(self.distribution, CategoricalDistribution):
            return self.distribution.choices[int(value)]
        steps = cast(FloatDistribution | IntDistribution, self.distribution)
        return min(steps.low + value * _step(steps), steps.high)


@dataclass(frozen=True)
class _Axes:
    """The parameters that are decided together, by Optuna's names."""

    axes: Mapping[str, _Axis]
    """By name."""
    space: Space
    """The agent's space, in the same order."""

    @classmethod
    def of(cls, distributions: Mapping[str, BaseDistribution]) -> "_Axes | None":
        """Return the axes of distributions, None where there is nothing to decide."""
        found = {name: _Axis.of(d) for name, d in distributions.items()}
        axes = {name: axis for name, axis in found.items() if axis is not None}
        if not axes:
            return None
        # Optuna's names may be any text.
        names = {f"p{k}": axis.parameter for k, axis in enumerate(axes.values())}
        return cls(axes, Space(**names))

    @classmethod
    def of_space(cls, space: Space) -> "_Axes":
        """Return the axes of an agent's space."""
        return cls({name: _Axis(p) for name, p in space.parameters.items()}, space)

    @cached_property
    def relative(self) -> dict[str, BaseDistribution]:
        """What Optuna is told of them."""
        return {n: a.distribution for n, a in self.axes.items() if a.distribution}

    def known(self, *params: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the agent's values of some parameters, by Optuna's names."""
        given = {k: v for some in params for k, v in (some or {}).items()}
        values: dict[str, Any] = {}
        for name, axis in self.axes.items():
            if name in given:
                try:
                    values[name] = axis.to_site(given[name])
                except (SpaceError, TypeError, ValueError) as error:
                    raise SpaceError(f"{name}: {error}") from error
        return values

    def whole(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values by the agent's names, or refuse them."""
        if missing := self.axes.keys() - values.keys():
            raise SpaceError(f"There is no value of {', '.join(sorted(missing))}.")
        pairs = zip(self.space.parameters, self.axes, strict=True)
        return self.space.clean({own: values[name] for own, name in pairs})

    def by_name(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return an agent's values by Optuna's names."""
        return dict(zip(self.axes, values.values(), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
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
    def of(cls, trial: FrozenTrial, axes: _Axes) -> "_Seen":
        """Return what an agent sees of a trial; `SpaceError` where that is nothing."""
        asked = _asked_of(trial)
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


class FederatedSampler(BaseSampler):
    """Samples with a guidefbo agent: a Gaussian process, and what other sites know.

    Parameters may be floats (also logarithmic, or in steps), whole numbers and
    categories. A failed and a pruned trial count as failures at their point: there is
    no value that could be compared, and questions keep a distance. Running and enqueued
    trials count as pending.
    """

    def __init__(
        self,
        site: "Link | str | Path | None" = None,
        *,
        space: Space | Mapping[str, BaseDistribution] | None = None,
        method: str | Method | None = None,
        seed: int | None = None,
        noise: float | None = None,
        initial: int | None = None,
        settings: Mapping[str, Any] | None = None,
        exchange: bool = True,
    ) -> None:
        """Create a sampler.

        Args:
            site: The link of a site that has joined a federation, from
                `guidefbo.connect`, or the file of a site, linked now, later or never:
                space, method and seed are then those of the file. None: the study has
                an agent of its own, and works alone.
            space: What is decided together, from the first trial on; None: what all
                finished trials have in common.
            method: Name of a method, or a record; None: `trend-ucb`.
            seed: Root of all randomness; None: another one each time.
            noise: Standard deviation of one observation; None: it is fitted.
            initial: Results before the model takes over.
            settings: Settings of the method that differ from the defaults.
            exchange: Whether every trial begins with an exchange; if not, `guidefbo
                sync FILE --every 10m` beside it does it.
        """
        own = (space, method, seed, noise, initial, settings)
        self._lock = threading.RLock()
        self._exchanges = exchange
        is_path = isinstance(site, str | Path)
        self._link = None if is_path else site
        self._file = Path(site) if is_path else site and site.places.file
        self._axes: _Axes | None = None
        if self._file is not None:
            if any(value is not None for value in own):
                raise SettingsError(
                    "space, method, seed, noise, initial and settings of a site are in "
                    f"its file {self._file}; leave them out here."
                )
            agent = Agent.load(self._file)
            seed, space = agent.setup.seed, agent.space
        seed = secrets.randbits(32) if seed is None else seed
        self._streams = Streams(require_count("seed", seed, 0, MAX_SEED))
        if space is not None:
            is_ours = isinstance(space, Space)
            self._axes = _Axes.of_space(space) if is_ours else _Axes.of(space)
        self._setup: dict[str, Any] = {
            "method": LONE_METHOD if method is None else method,
            "settings": {} if settings is None else settings,
            "seed": seed,
            "noise": noise,
            "initial": initial,
        }
        if self._file is None:
            # A mistake in the settings shows now and not in the first trial.
            Setup(space=Space(x=Float(0, 1)), goal="max", **self._setup)

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return what is decided together."""
        del trial
        _goal_of(study)
        if self._axes is not None:
            return dict(self._axes.relative)
        trials = study.get_trials(deepcopy=False)
        common = intersection_search_space(trials, include_pruned=True)
        return {n: d for n, d in common.items() if not d.single() and _Axis.of(d)}

    def sample_relative(
        self,
        study: Study,
        trial: FrozenTrial,
        search_space: dict[str, BaseDistribution],
    ) -> dict[str, Any]:
        """Exchange, where the site is linked, and choose the next point."""
        goal = _goal_of(study)
        axes = _Axes.of(search_space) if self._axes is None else self._axes
        if axes is None:
            return {}
        try:
            fixed = axes.known(trial.system_attrs.get("fixed_params"))
        except SpaceError:
            fixed = {}
        if len(fixed) == len(axes.axes):
            return {}
        with self._lock:
            others = study.get_trials(deepcopy=False)
            seen = _seen([t for t in others if t.number != trial.number], axes)
            if self._file is None:
                setup = Setup(space=axes.space, goal=goal, **self._setup)
                asked = Agent.of(setup, _entered(seen, setup)).ask()
                values = axes.by_name(asked.values) | fixed
            else:
                asked, values = self._ask_file(self._file, goal, seen, axes, fixed)
            form = {
                "values": values,
                "origin": str(asked.origin),
                "guided": asked.guided,
            }
            _remember(study, trial, form)
        names = [name for name in search_space if name in axes.axes]
        return {name: axes.axes[name].to_optuna(values[name]) for name in names}

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Return the value that was asked, a random one of any other parameter."""
        _goal_of(study)
        axis = None if self._axes is None else self._axes.axes.get(param_name)
        asked = _asked_of(trial).get("values", {})
        if axis is not None and param_name in asked:
            value = axis.to_optuna(asked[param_name])
            if _has(param_distribution, value):
                is_number = not isinstance(param_distribution, CategoricalDistribution)
                is_whole = isinstance(param_distribution, IntDistribution)
                return (int if is_whole else float)(value) if is_number else value
            warnings.warn(
                f"{param_name} is {axis.parameter} in the space "
                f"and {param_distribution} in the objective: {shown(value)} cannot be "
                "suggested, and a random value takes its place.",
                GuidanceWarning,
                stacklevel=2,
            )
        # Addressed by the trial: workers and later processes draw other numbers.
        stream = self._streams.at(f"optuna {param_name}", t=trial.number)
        sampler = RandomSampler(seed=int(stream.integers(2**32)))
        return sampler.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: OptunaState,
        values: Sequence[float] | None,
    ) -> None:
        """Write what came of a trial into the site's file; nothing is sent."""
        if self._file is None or self._axes is None:
            return
        ended = FrozenTrial(
            number=trial.number,
            state=state,
            value=values[0] if values and state == OptunaState.COMPLETE else None,
            datetime_start=trial.datetime_start,
            datetime_complete=trial.datetime_start,
            params=trial.params,
            distributions=trial.distributions,
            user_attrs={},
            system_attrs=trial.system_attrs,
            intermediate_values={},
            trial_id=trial._trial_id,  # pyright: ignore[reportPrivateUsage]
        )
        try:
            _Seen.of(ended, self._axes)
        except SpaceError as error:
            if state == OptunaState.COMPLETE:
                warnings.warn(
                    f"Trial {trial.number} is not told to {self._file}: {error}",
                    GuidanceWarning,
                    stacklevel=2,
                )
            return
        with self._lock:
            trials = study.get_trials(deepcopy=False)
            now = [ended if t.number == trial.number else t for t in trials]
            _tell(self._file, _seen(now, self._axes))

    def sync(self, study: Study) -> "Synced":
        """Hand over what the study has shown so far and take what the others say.

        Every trial of a linked site begins with that; after the last one it is left to
        be done. An evaluation never runs inside it.
        """
        link = self._linked()
        if link is None or self._axes is None:
            raise SettingsError(
                "This sampler works alone. FederatedSampler(guidefbo.connect(...)) is "
                "one that is linked."
            )
        with self._lock:
            seen = _seen(study.get_trials(deepcopy=False), self._axes)
            _tell(link.places.file, seen)
            return link.sync()

    def reseed_rng(self) -> None:
        """Do nothing: random numbers are addressed by trial, and no two are alike."""

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.RLock())

    def _linked(self) -> "Link | None":
        """Return the site's link as it is now: a site may join and leave meanwhile."""
        if self._file is None:
            return None
        from guidefbo.connect.places import Places

        if not Places.of(self._file).link.exists():
            return None
        from guidefbo.connect.link import Link

        fresh, given = Link(self._file), self._link
        return given if given is not None and given.facts == fresh.facts else fresh

    def _ask_file(
        self,
        file: Path,
        goal: str,
        seen: Sequence[_Seen],
        axes: _Axes,
        fixed: Mapping[str, Any],
    ) -> tuple[Trial, dict[str, Any]]:
        """Tell the agent's file what is new, exchange, and ask."""
        from guidefbo.connect.errors import ConnectError

        own = _tell(file, seen).goal
        if own != goal:
            raise SettingsError(
                f"{file} has the goal {own}, and the study is after {goal}. Create the "
                f"study with direction={'maximize' if own == 'max' else 'minimize'!r}."
            )
        link = self._linked() if self._exchanges else None
        if link is not None:
            try:
                trouble = link.sync().trouble
            except ConnectError as error:
                trouble = str(error)
            if trouble is not None:
                warnings.warn(
                    f"{trouble} The study goes on with what is known here.",
                    GuidanceWarning,
                    stacklevel=4,
                )
        with Agent.update(file) as agent:
            asked = agent.ask()
            values = dict(asked.values) | dict(fixed)
            if values != asked.values:
                agent.abandon(asked)
                agent.begin(axes.whole(values))
        return asked, values


def _goal_of(study: Study) -> str:
    if len(study.directions) > 1:
        raise SettingsError(
            "Expected a study of one objective, got one with "
            f"{len(study.directions)}. FederatedSampler cannot be used for it."
        )
    return "max" if study.directions[0] == StudyDirection.MAXIMIZE else "min"


def _step(distribution: FloatDistribution | IntDistribution) -> float:
    return 1 if distribution.step is None else distribution.step


def _has(distribution: BaseDistribution, value: Any) -> bool:
    """Whether a value can be suggested by a distribution."""
    if isinstance(distribution, CategoricalDistribution):
        return value in distribution.choices
    if isinstance(value, str | bool):
        return False
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    is_whole = isinstance(value, int) or float(value).is_integer()
    is_kind = is_whole or isinstance(distribution, FloatDistribution)
    return is_kind and distribution.low <= value <= distribution.high


def _seen(trials: Sequence[FrozenTrial], axes: _Axes) -> list[_Seen]:
    """Return what an agent sees of a study's trials, in the order of their numbers."""
    seen: list[_Seen] = []
    for trial in trials:
        # Some are of another space, or not far enough to have all values.
        with suppress(SpaceError):
            seen.append(_Seen.of(trial, axes))
    return seen


def _asked_of(trial: FrozenTrial) -> dict[str, Any]:
    """Return what was asked for a trial, empty where nothing readable is kept."""
    form = trial.system_attrs.get(ASKED)
    form = cast(dict[str, Any], form) if isinstance(form, dict) else {}
    return form if isinstance(form.get("values"), dict) else {}


def _remember(study: Study, trial: FrozenTrial, form: dict[str, Any]) -> None:
    """Show other workers the point before the objective has read it."""
    storage = study._storage  # pyright: ignore[reportPrivateUsage]
    identity = trial._trial_id  # pyright: ignore[reportPrivateUsage]
    storage.set_trial_system_attr(identity, ASKED, form)


def _entered(seen: Sequence[_Seen], setup: Setup) -> list[Trial]:
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


def _tell(file: Path, seen: Sequence[_Seen]) -> Agent:
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


def _new_in(seen: Sequence[_Seen], agent: Agent) -> list[_Seen]:
    """Return what an agent does not have, each as often as it lacks it.

    A result is known by its values and its outcome: telling again after a crash, from
    another process or from a study that was copied enters nothing twice.
    """
    held: Counter[Hashable] = Counter()
    points: Counter[Hashable] = Counter()
    for trial in agent.trials:
        point = tuple(trial.values.items())
        points[point] += 1
        if trial.state in (TrialState.DONE, TrialState.FAILED):
            held[point, trial.value] += 1
    new: list[_Seen] = []
    for s in sorted(seen, key=lambda s: s.state == TrialState.PENDING):
        is_known = points[s.point] > 0
        if s.state != TrialState.PENDING:
            is_known = held[s.point, s.value] > 0
            held[s.point, s.value] -= is_known
        # What is new answers the open trial of these values, if there is one.
        points[s.point] -= points[s.point] > 0
        if not is_known:
            new.append(s)
    return new
