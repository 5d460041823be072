"""`gf.Agent`: the ask/tell interface of a real site.

It can be saved and loaded between calls.
"""

import json
import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

from guidefbo.core.checks import require_count, shown
from guidefbo.core.errors import DataError
from guidefbo.core.space.overshoot import OVERSHOOT
from guidefbo.core.space.space import Space
from guidefbo.methods.default import DEFAULT_METHOD
from guidefbo.site.as_run import KEEP, accepted, run_of
from guidefbo.site.book import Book, find_trial, round_of
from guidefbo.site.outcome import Outcome, check_outcomes
from guidefbo.site.setup import Setup
from guidefbo.site.summary import Summary
from guidefbo.site.trial import (
    Best,
    Origin,
    Trial,
    TrialState,
    check_told,
    one_line,
    require_reason,
)
from guidefbo.wire.envelope import Upload

if TYPE_CHECKING:
    # A process that only tells needs none of these, and they take long to load.
    from guidefbo.agent.surrogate.model import Fitted
    from guidefbo.methods.record import Method
    from guidefbo.site.file import Stored
    from guidefbo.site.guidance import Guidance
    from guidefbo.site.workings import Workings

MAX_BATCH = 10_000
"""Most points asked at once."""


class Agent:
    """One site's optimiser.

    >>> from guidefbo import Agent, Float, Space
    >>> agent = Agent(Space(dose=Float(0.1, 10, log=True)), goal="max", seed=7)
    >>> trial = agent.ask()
    >>> agent.tell(trial, 0.83).state
    <TrialState.DONE: 'done'>
    """

    def __init__(
        self,
        space: Space,
        *,
        goal: str,
        method: "str | Method" = DEFAULT_METHOD,
        seed: int = 0,
        noise: float | None = None,
        initial: int | None = None,
        agent_id: int = 0,
        num_agents: int | None = None,
        settings: Mapping[str, Any] | None = None,
        expire_after: int = 50,
        packet_lifetime: int = 10,
        site: str | None = None,
        federation: str = "default",
        overshoot: float = OVERSHOOT,
        patience: int = 3,
        outcomes: Sequence[Outcome] = (),
        objective: str | None = None,
        unit: str | None = None,
        outcome_bounds: tuple[float | None, float | None] = (None, None),
    ) -> None:
        """Create an agent; it works alone until guidance comes.

        Args:
            space: The search space.
            goal: "max" or "min".
            method: Name of a method, or a record.
            seed: Root of all randomness. Sites of fts, fts-de and fmtbo need the same
                one: the features and probes they share are drawn from it, never sent.
            noise: Standard deviation of one observation, or None to fit it.
            initial: Results before the model takes over; None: two per parameter,
                at least 5, at most 20.
            agent_id: Zero-based number of this site in its federation.
            num_agents: Number of sites, if known: their initial designs interlock.
                All of them then use the same seed.
            settings: Settings of the method that differ from the defaults.
            expire_after: A pending trial expires once that many results came beyond
                those that were out when it was asked.
            packet_lifetime: Guidance is stale once that many results came after the
                upload that it answers.
            site: Name of this site in its federation, which no other site may have;
                None: `site-` and its number.
            federation: Name of the federation; messages of another one are refused.
            overshoot: How far beyond its bounds a parameter may have been run, as a
                share of its range; the model takes such a result for one at the bound.
            patience: The site works alone once its own data spoke against the others in
                so many rounds after each other, for methods that compare; 0: never.
            outcomes: One to three further measured outcomes that must keep a limit;
                each has a model of its own, and none leaves the site.
            objective: Name of what is optimised, for people; not part of any message.
            unit: What it is measured in.
            outcome_bounds: The least and the largest value it can have, as (0, 100) of
                a percentage, None where there is no such end: pictures end there. The
                model knows nothing of it.
        """
        setup = Setup(
            space=space,
            goal=goal,
            method=method,
            settings={} if settings is None else settings,
            seed=seed,
            noise=noise,
            initial=initial,
            agent_id=agent_id,
            num_agents=num_agents,
            expire_after=expire_after,
            packet_lifetime=packet_lifetime,
            site=site,
            federation=federation,
            overshoot=overshoot,
            patience=patience,
            outcomes=tuple(outcomes),
            objective=objective,
            unit=unit,
            outcome_bounds=outcome_bounds,
        )
        space.refuse_unmet()
        self._begin(setup)
        self._build(None)

    def _begin(self, setup: Setup) -> None:
        self._setup = setup
        self._book = Book(setup.space, setup.goal, setup.expire_after, setup.overshoot)
        self._built: Workings | None = None
        self._stored: Stored | None = None
        self._noted = Summary()
        self._files: dict[Path, str] = {}
        self._held: Path | None = None

    def _build(self, guidance: "Guidance | None") -> "Workings":
        from guidefbo.site.workings import Workings

        self._built = Workings(self._setup, self._book, guidance)
        return self._built

    @property
    def _workings(self) -> "Workings":
        """What needs the method, built when it is first used."""
        if self._built is not None:
            return self._built
        assert self._stored is not None
        self._setup, guidance = self._stored.opened()
        return self._build(guidance)

    @property
    def setup(self) -> Setup:
        """Space, goal, method, seed: what was fixed at the start."""
        return self._setup

    @property
    def space(self) -> Space:
        """The search space."""
        return self._setup.space

    @property
    def goal(self) -> str:
        """Either max or min."""
        return self._setup.goal

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every trial, by id."""
        return self._book.trials

    @property
    def results(self) -> list[Trial]:
        """The trials with a value that lie in the space as it is now, by id."""
        return self._book.results()

    @property
    def unused(self) -> tuple[int, ...]:
        """Ids of results outside the space as it is now, which are not modelled."""
        used = {trial.id for trial in self._book.results()}
        done = self._book.in_state(TrialState.DONE)
        return tuple(trial.id for trial in done if trial.id not in used)

    @property
    def followed(self) -> tuple[Trial, ...]:
        """The trials with a value that were run about as they were asked, by id."""
        return tuple(self._book.followed())

    @property
    def scores(self) -> tuple[float, ...]:
        """By how much the others foretold each result better than the own data alone.

        In logarithms of odds, at most 3 either way, in the order of telling; of methods
        that compare models, and of questions that were run about as they were asked.
        """
        return tuple(self._book.scores())

    @property
    def t(self) -> int:
        """The round: results beyond the initial design, counted from 1."""
        return round_of(self._book, self._setup.num_initial)

    @property
    def guidance(self) -> "Guidance":
        """What is held of the other sites, whether it is used, and whether it helps.

        Whether the own data speak for the others is computed here, of methods that
        compare models: the model is fitted, if it has not been.
        """
        return self._workings.judged

    @property
    def fitted(self) -> "Fitted | None":
        """The model of what was told so far, None where there is none to be had."""
        return self._workings.learner.fitted

    @property
    def held_guidance(self) -> "Guidance":
        """The newest packet as it came, fresh or stale."""
        return self._workings.guidance

    def guidance_form(self) -> Mapping[str, Any]:
        """Return what is held of the other sites as plain data."""
        if self._built is None and self._stored is not None:
            return self._stored.guidance
        from guidefbo.site.guidance import guidance_to_form

        return guidance_to_form(self._workings.guidance)

    def summary(self, *, fits: bool = True) -> Summary:
        """Return what the model says of the data and of the others.

        Args:
            fits: Whether it is fitted to what was told since; otherwise this is what it
                said when it was last fitted, and no model is loaded for it.
        """
        if fits or self._built is not None:
            self._noted = self._workings.summary(self._noted, fits=fits)
        held = self._noted.held.aged(self._setup, self._book)
        return replace(self._noted, held=held)

    def summary_form(self) -> Mapping[str, Any]:
        """Return what the model last said as plain data, for the file."""
        try:
            form = self.summary(fits=False).to_form()
            json.dumps(form, allow_nan=False)
        except Exception:
            # Nothing that a strategy computes here may keep results from being saved.
            form = Summary().to_form()
        return form

    def recommended(self) -> Best | None:
        """Return `best` as of the last `summary`; the model is not asked."""
        return self._noted.best_of(self._setup, self._book)

    @overload
    def ask(self) -> Trial: ...
    @overload
    def ask(self, n: int) -> list[Trial]: ...
    def ask(self, n: int | None = None) -> Trial | list[Trial]:
        """Return the next point to evaluate, or n of them.

        Asking again before telling gives other points: the pending ones are imagined
        at their posterior mean.

        Args:
            n: Size of a batch; None for a single trial.
        """
        count = 1 if n is None else require_count("n", n, 1, MAX_BATCH)
        num_pending = len(self._book.in_state(TrialState.PENDING))
        due_at = self._book.num_told + num_pending + count
        trials = [self._ask_one(due_at) for _ in range(count)]
        return trials[0] if n is None else trials

    def tell(
        self,
        trial: Trial | int | Mapping[str, Any],
        value: float | None = None,
        *,
        std: float | None = None,
        failed: str | None = None,
        values: Mapping[str, Any] | None = None,
        outcomes: Mapping[str, float] | None = None,
        outside: str = KEEP,
    ) -> Trial:
        """Tell what came of a trial, or bring a result of the site's own.

        A trial told before is corrected: the new record counts, the old one is kept.
        A late answer to an expired or abandoned trial is as good as any.

        Args:
            trial: The trial, its id, or values; values that were never asked become
                a trial of their own, and repeats are welcome.
            value: What was observed.
            std: Its standard deviation, where it is known.
            failed: Why there is no value, instead of one; line breaks become blanks.
            values: What was really run, of all parameters or of those that differ from
                what was asked; both are kept, and the model goes by what was run.
            outcomes: Further outcomes that were measured, by name.
            outside: Whether values a little outside their bounds (the agent's
                `overshoot`) are kept and counted at the bound, or refused: "keep" or
                "refuse".
        """
        check_told(value, std, failed)
        require_reason(failed)
        measured = check_outcomes(outcomes, self._setup.outcomes)
        run = None
        if isinstance(trial, Mapping):
            if values is not None:
                raise DataError(
                    "Values of your own are values as run: leave out values=, or name "
                    "the trial by its id."
                )
            known = find_trial(self._book, accepted(trial, self._setup, outside))
        else:
            known = find_trial(self._book, trial)
            run = run_of(known, values, self._setup, outside)
        observed = None if value is None else float(value)
        spread = None if std is None else float(std)
        reason = None if failed is None else one_line(failed)
        return self._book.record(
            known.id,
            value=observed,
            std=spread,
            failed=reason,
            values=run,
            outcomes=measured,
        )

    def begin(self, values: Mapping[str, Any], *, foretell: bool = False) -> Trial:
        """Enter a point of the site's own that is being evaluated now.

        It is pending like one that was asked, so that questions keep away from it.

        Args:
            values: The values by name.
            foretell: Whether its result shall count for or against the others, as that
                of a question does, for methods that compare models: what is expected of
                it is kept, and the model is fitted, if it has not been.
        """
        clean = self.space.clean(values)
        basis = None
        if foretell:
            basis = self._workings.basis_at(self.space.to_unit(clean))
        return self._book.open(clean, Origin.OWN, basis=basis)

    def abandon(self, trial: Trial | int) -> Trial:
        """Give up a pending trial, so that its region is free again."""
        if isinstance(trial, Mapping):
            raise DataError(f"Expected a trial or its id, got {shown(trial)}.")
        known = find_trial(self._book, trial)
        if known.state in (TrialState.DONE, TrialState.FAILED):
            raise DataError(
                f"Trial {known.id} is {known.state} and cannot be abandoned. Tell a "
                "correction instead."
            )
        return self._book.abandon(known.id)

    def best(self) -> Best | None:
        """Return the observed point of best posterior mean; None without a result.

        Where outcomes have limits, the best of those that keep them. Beside it stands
        the best single observation, which under noise is more often lucky than best.
        """
        return self._workings.learner.best(self.goal)

    def upload(self) -> Upload | None:
        """Return what this site tells the others, None where there is nothing to tell.

        The same data give the same message; it holds no observation. `to_bytes()`
        gives it as it travels.
        """
        return self._workings.upload()

    def receive(self, packet: Any) -> "Guidance":
        """Take the answer of the server and say what is held now.

        The packet is checked here, whatever the other side sent. One that breaks the
        protocol, is of another federation, space or site, or is older than the one held
        is refused with a warning; what was held stays in use.

        Args:
            packet: A message, its bytes or text, or None where none came.
        """
        return self._workings.receive(packet)

    def rename(self, *, site: str | None = None, federation: str | None = None) -> None:
        """Give the site another name, or put it into another federation.

        A packet that is held was made for the old name and is let go, and so is what
        the sites of another federation foretold.

        Args:
            site: The new name of the site; None: as it is.
            federation: The new federation; None: as it is.
        """
        from guidefbo.site.guidance import Guidance

        _ = self._workings  # What is in the file is checked before it is changed.
        setup = self._setup
        if federation not in (None, setup.federation):
            self._book.forget_forecasts()
        self._setup = replace(
            setup,
            site=setup.site if site is None else site,
            federation=setup.federation if federation is None else federation,
        )
        self._build(Guidance(reason="the site was renamed"))

    def work_alone(self) -> None:
        """Let go of what is held of the other sites; the next packet is taken again.

        The packet goes, and so does what it foretold. Results and names stay.
        """
        from guidefbo.site.guidance import Guidance

        _ = self._workings  # What is in the file is checked before it is changed.
        self._book.forget_forecasts()
        self._build(Guidance(reason="the site has left the others"))

    def change(self, **changes: Any) -> list[str]:
        """Change what is searched and say how; results stay. See `site.change`.

        Args:
            changes: Any of bounds={"heat": (30, 130)}, add_options={"drug": ["c"]},
                and of this site's own limits within={"heat": (40, 100)},
                without={"drug": ["a"]}, fix={"load": 1.0}, free=["load"].
        """
        from guidefbo.site.change import changed_setup, held_after

        former = self._workings.guidance
        setup, lines = changed_setup(self._setup, **changes)
        guidance = held_after(former, self._setup, setup)
        kept = self._book.trials, self._files, self._held
        self._begin(setup)
        self._build(guidance)
        trials, self._files, self._held = kept
        for trial in trials:
            self._book.enter(trial)
        return lines

    def save(
        self,
        path: str | Path,
        *,
        overwrite: bool = False,
        wait: float = 30.0,
        notice: Callable[[str], object] | None = None,
    ) -> None:
        """Write the agent into one file, whole or not at all.

        A file that this agent was neither loaded from nor saved to, or that another
        process has changed since, is refused, and the file is held from that look to
        the writing: what a save that returned has written is never lost to another.

        Args:
            path: The file. Its lock is an empty neighbour `FILE.lock`, which stays.
            overwrite: Whether what is there may be lost, whoever wrote it.
            wait: Seconds to wait for another process that holds the file.
            notice: Called once with a sentence where the wait is a long one.
        """
        from guidefbo.site.file import held, save_agent

        target = Path(os.path.realpath(path))
        known = self._files.get(target)
        is_held = self._held == target
        with nullcontext() if is_held else held(target, wait=wait, notice=notice):
            self._files[target] = save_agent(self, target, known, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | Path, *, knows_method: bool = True) -> Self:
        """Return the agent in a file; it goes on as if it had never stopped.

        To the bit on the same machine and library versions; others round otherwise.

        Args:
            path: The file.
            knows_method: Whether its method, settings and packet are checked and built
                now; otherwise when they are first used.
        """
        from guidefbo.site.file import load_agent

        stored = load_agent(Path(path))
        agent = cls.__new__(cls)
        agent._begin(stored.setup)
        agent._stored, agent._noted = stored, stored.summary
        if knows_method:
            _ = agent._workings
        for trial in stored.trials:
            agent._book.enter(trial)
        agent._files[Path(os.path.realpath(path))] = stored.fingerprint
        return agent

    @classmethod
    def of(
        cls, setup: Setup, trials: Iterable[Trial], guidance: "Guidance | None" = None
    ) -> Self:
        """Return the agent with trials that are kept elsewhere, as they are.

        Args:
            setup: Space, goal, method, seed.
            trials: Every trial, by id from 1.
            guidance: What is held of the other sites; None: nothing.
        """
        agent = cls.__new__(cls)
        agent._begin(setup)
        agent._build(guidance)
        for trial in trials:
            agent._book.enter(trial)
        return agent

    @classmethod
    @contextmanager
    def update(
        cls,
        path: str | Path,
        *,
        wait: float = 30.0,
        notice: Callable[[str], object] | None = None,
    ) -> Generator[Self, None, None]:
        """Hold a file while its agent is loaded, changed by the block and saved.

        Commands and other processes that do the same wait, so that any number of them
        can change one agent: `with Agent.update(path) as agent: agent.tell(...)`. A
        block that raises changes nothing. A block that only tells loads no model: the
        method, its settings and the packet held are checked when they are first used.

        Args:
            path: The agent's file.
            wait: Seconds to wait for another process that holds it.
            notice: Called once with a sentence where the wait is a long one.
        """
        from guidefbo.site.file import held

        target = Path(os.path.realpath(path))
        if not target.is_file():
            cls.load(path)  # Says why; there is nothing to hold.
        with held(target, wait=wait, notice=notice):
            agent = cls.load(path, knows_method=False)
            agent._held = target
            try:
                yield agent
                agent.save(path)
            finally:
                agent._held = None

    def to_frame(self) -> Any:
        """Return all trials as a table: a pandas DataFrame, or columns without pandas.

        A number that is not known is NaN.
        """
        from guidefbo.site.table import frame_of

        return frame_of(self)

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw progress, slices of the model, importance; needs `guidefbo[plot]`.

        Args:
            path: Where to save the figure, by its ending; None to only return it.
        """
        from guidefbo.site.figures import draw_agent

        return draw_agent(self, path)

    def _repr_html_(self) -> str:
        from guidefbo.site.display import agent_html

        return agent_html(self)

    def __str__(self) -> str:
        counts = {state: len(self._book.in_state(state)) for state in TrialState}
        states = ", ".join(f"{n} {state}" for state, n in counts.items() if n) or "none"
        head = f"{self._setup.method}, goal {self.goal}: trials: {states}"
        best, guidance = self.best(), self.guidance
        said = best.text(self._setup.labels) if best else "no result yet"
        lines = [head, said, str(guidance)]
        return "\n".join([*lines, *guidance.verdict])

    def _ask_one(self, due_at: int) -> Trial:
        chosen = self._workings.next_point()
        return self._book.open(
            self._setup.values_at(chosen.x),
            chosen.origin,
            guided=chosen.is_guided,
            due_at=due_at,
            basis=chosen.basis,
        )
