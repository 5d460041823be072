"""The sampler: it asks an agent, of its own or in a site's file."""

import secrets
import threading
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optuna import Study
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    IntDistribution,
)
from optuna.samplers import BaseSampler, RandomSampler
from optuna.search_space import intersection_search_space
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial
from optuna.trial import TrialState as OptunaState

from guidefbo.core.checks import MAX_SEED, require_count, shown
from guidefbo.core.errors import GuidanceWarning, SettingsError, SpaceError
from guidefbo.core.space.parameters import Float
from guidefbo.core.space.space import Space
from guidefbo.core.streams import Streams
from guidefbo.integrations.optuna.axes import Axes, Axis, can_suggest
from guidefbo.integrations.optuna.seen import (
    Seen,
    asked_of,
    entered,
    remember,
    seen_in,
    tell_file,
)
from guidefbo.methods.default import LONE_METHOD
from guidefbo.methods.record import Method
from guidefbo.site.agent import Agent
from guidefbo.site.setup import Setup
from guidefbo.site.trial import Trial

if TYPE_CHECKING:
    from guidefbo.connect.link import Link, Synced


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
        self._axes: Axes | None = None
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
            self._axes = Axes.of_space(space) if is_ours else Axes.of(space)
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
        return {n: d for n, d in common.items() if not d.single() and Axis.of(d)}

    def sample_relative(
        self,
        study: Study,
        trial: FrozenTrial,
        search_space: dict[str, BaseDistribution],
    ) -> dict[str, Any]:
        """Exchange, where the site is linked, and choose the next point."""
        goal = _goal_of(study)
        axes = Axes.of(search_space) if self._axes is None else self._axes
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
            seen = seen_in([t for t in others if t.number != trial.number], axes)
            if self._file is None:
                setup = Setup(space=axes.space, goal=goal, **self._setup)
                asked = Agent.of(setup, entered(seen, setup)).ask()
                values = axes.by_name(asked.values) | fixed
            else:
                asked, values = self._ask_file(self._file, goal, seen, axes, fixed)
            form = {
                "values": values,
                "origin": str(asked.origin),
                "guided": asked.guided,
            }
            remember(study, trial, form)
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
        asked = asked_of(trial).get("values", {})
        if axis is not None and param_name in asked:
            value = axis.to_optuna(asked[param_name])
            if can_suggest(param_distribution, value):
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
            Seen.of(ended, self._axes)
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
            tell_file(self._file, seen_in(now, self._axes))

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
            seen = seen_in(study.get_trials(deepcopy=False), self._axes)
            tell_file(link.places.file, seen)
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
        seen: Sequence[Seen],
        axes: Axes,
        fixed: Mapping[str, Any],
    ) -> tuple[Trial, dict[str, Any]]:
        """Tell the agent's file what is new, exchange, and ask."""
        from guidefbo.connect.errors import ConnectError

        own = tell_file(file, seen).goal
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
