"""`gf.Agent`: the ask/tell interface of a real site.

It can be saved and loaded between calls.
"""

import os
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, overload

import numpy as np

from guidefbo.agent.surrogate.model import Fitted
from guidefbo.core.arrays import Point
from guidefbo.core.checks import is_whole_number, require_count, shown
from guidefbo.core.errors import (
    DataError,
    FallbackWarning,
    GuidanceWarning,
    NumericalError,
    WireError,
)
from guidefbo.core.space.goal import SIGNS
from guidefbo.core.space.space import Space
from guidefbo.core.streams import Address
from guidefbo.core.threads import single_blas_thread
from guidefbo.methods.record import Method
from guidefbo.site.book import Book
from guidefbo.site.design import design_point, filling_point
from guidefbo.site.guidance import Door, Guidance, GuidanceState, is_empty
from guidefbo.site.judgement import Judgement
from guidefbo.site.setup import Setup, door_of
from guidefbo.site.trial import Best, Origin, Trial, TrialState, check_told, one_line
from guidefbo.wire.envelope import Envelope, Packet, Upload, UploadHead

NUMERICAL = (ArithmeticError, np.linalg.LinAlgError, NumericalError)
"""What a computation on difficult data may raise."""
MAX_BATCH = 10_000
"""Most points asked at once."""
MAX_SKIPS = 64
"""Design points passed over when they repeat what is known."""


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
        method: str | Method = "guide-ucb",
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
        )
        self._begin(setup, Guidance())

    def _begin(self, setup: Setup, guidance: Guidance) -> None:
        self._setup = setup
        self._policy = setup.policy()
        self._guidance = guidance
        self._book = Book(setup.space, setup.goal, setup.expire_after)
        self._fitted: tuple[int, Fitted] | None = None
        self._insight: Any = None
        self._files: dict[Path, str] = {}
        self._held: Path | None = None

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
    def t(self) -> int:
        """The round: results beyond the initial design, counted from 1."""
        num_done = len(self._book.in_state(TrialState.DONE))
        return max(1, num_done - self._setup.num_initial + 1)

    @property
    def guidance(self) -> Guidance:
        """What is held of the other sites, whether it is used, and whether it helps.

        Whether the own data speak for the others is computed here, of methods that
        compare models: the model is fitted, if it has not been.
        """
        held = self._in_use
        return replace(held, judgement=self._judgement(held))

    @property
    def fitted(self) -> Fitted | None:
        """The model of what was told so far, None where there is none to be had."""
        if not self._book.in_state(TrialState.DONE):
            return None
        try:
            fitted = self._fit()
        except NUMERICAL:
            return None
        gp = fitted.posterior
        return fitted if np.isfinite(gp.predict_mean(gp.X)).all() else None

    @property
    def held_guidance(self) -> Guidance:
        """The newest packet as it came, fresh or stale."""
        return self._guidance

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
        """
        check_told(value, std, failed)
        known = self._find(trial)
        observed = None if value is None else float(value)
        spread = None if std is None else float(std)
        reason = None if failed is None else one_line(failed)
        return self._book.record(known.id, value=observed, std=spread, failed=reason)

    def begin(self, values: Mapping[str, Any]) -> Trial:
        """Enter a point of the site's own that is being evaluated now.

        It is pending like one that was asked, so that questions keep away from it.

        Args:
            values: The values by name.
        """
        return self._book.open(self.space.clean(values), Origin.OWN)

    def abandon(self, trial: Trial | int) -> Trial:
        """Give up a pending trial, so that its region is free again."""
        if isinstance(trial, Mapping):
            raise DataError(f"Expected a trial or its id, got {shown(trial)}.")
        known = self._find(trial)
        if known.state in (TrialState.DONE, TrialState.FAILED):
            raise DataError(
                f"Trial {known.id} is {known.state} and cannot be abandoned. Tell a "
                "correction instead."
            )
        return self._book.abandon(known.id)

    def best(self) -> Best | None:
        """Return the observed point of best posterior mean; None without a result.

        Beside it stands the best single observation, which under noise is more often
        lucky than best.
        """
        done = self._book.in_state(TrialState.DONE)
        if not done:
            return None
        sign = SIGNS[self.goal]
        y = self._book.data().y
        # Without a model the observations themselves are all there is to go by.
        mean, std = y, np.zeros(len(y))
        if fitted := self.fitted:
            gp, _, units = fitted
            predicted, spread = gp.predict(gp.X)
            mean = units.to_site(predicted)
            std = spread / units.slope(mean)
        k = int(np.argmax(mean))
        return Best(
            goal=self.goal,
            trial=done[k],
            mean=sign * float(mean[k]),
            std=float(std[k]) if np.ptp(y) > 0.0 else None,
            observed=done[int(np.argmax(y))],
        )

    def upload(self) -> Upload | None:
        """Return what this site tells the others, None where there is nothing to tell.

        The same data give the same message; it holds no observation. `to_bytes()`
        gives it as it travels.
        """
        if not self._book.in_state(TrialState.DONE):
            return None
        address = self._address(self._book.num_told)
        try:
            with single_blas_thread():
                body = self._policy.upload(
                    self._fit(), self._study(), self._guidance.packet, address
                )
        except (*NUMERICAL, WireError) as error:
            warnings.warn(
                f"No message could be computed from these data ({error}).",
                FallbackWarning,
                stacklevel=2,
            )
            return None
        if body is None:
            return None
        head = UploadHead(
            terms=self._setup.terms,
            site=str(self._setup.site),
            sequence=self._book.num_told,
        )
        return Envelope(head=head, body=body)

    def receive(self, packet: Any) -> Guidance:
        """Take the answer of the server and say what is held now.

        The packet is checked here, whatever the other side sent. One that breaks the
        protocol, is of another federation, space or site, or is older than the one held
        is refused with a warning; what was held stays in use.

        Args:
            packet: A message, its bytes or text, or None where none came.
        """
        if packet is None:
            return self._in_use
        try:
            message, text = self._door.read(packet)
            self._refuse_old(message)
        except WireError as error:
            self._guidance = replace(self._guidance, refusal=str(error))
            warnings.warn(
                f"the packet was refused: {error}", GuidanceWarning, stacklevel=2
            )
            return self._in_use
        if self._keeps(message):
            self._guidance = replace(self._guidance, refusal=None)
            return self._in_use
        head, told = message.head, self._book.num_told
        since = head.answers or told
        state, reason = GuidanceState.ACTIVE, f"received after {told} results"
        if is_empty(message.body):
            state = GuidanceState.NONE
            reason = "the packet is empty, nobody else has spoken"
        self._guidance = Guidance(
            state=state, reason=reason, message=message, text=text, since=since
        )
        return self._guidance

    def _keeps(self, message: Packet) -> bool:
        """Whether what is held of others is worth more than a packet of nobody else."""
        held = self._in_use
        if held.state != GuidanceState.ACTIVE or held.message is None:
            return False
        is_of_others = held.message.head.num_uploads > 1
        is_alone = message.head.num_uploads == 1 or is_empty(message.body)
        return is_of_others and is_alone

    def rename(self, *, site: str | None = None, federation: str | None = None) -> None:
        """Give the site another name, or put it into another federation.

        A packet that is held was made for the old name and is let go.

        Args:
            site: The new name of the site; None: as it is.
            federation: The new federation; None: as it is.
        """
        setup = self._setup
        self._setup = replace(
            setup,
            site=setup.site if site is None else site,
            federation=setup.federation if federation is None else federation,
        )
        self._guidance = Guidance(reason="the site was renamed")

    def _refuse_old(self, message: Packet) -> None:
        head, told = message.head, self._book.num_told
        if head.answers > told:
            raise WireError(
                f"it answers an upload made after {head.answers} results, and this "
                f"agent has {told}. Was an older copy of its file put back?"
            )
        if head.order < self._guidance.order:
            raise WireError("it is older than the packet that is held.")
        age = self._book.results_since(head.answers or told)
        if age >= self._setup.packet_lifetime:
            raise WireError(
                f"it answers an upload {age} results ago, and packets are used for "
                f"{self._setup.packet_lifetime}. Upload again."
            )

    @property
    def _door(self) -> Door:
        return door_of(self._setup, self._policy)

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
    def load(cls, path: str | Path) -> Self:
        """Return the agent in a file; it goes on as if it had never stopped.

        To the bit on the same machine and library versions; others round otherwise.
        """
        from guidefbo.site.file import load_agent

        setup, guidance, trials, fingerprint = load_agent(Path(path))
        agent = cls.of(setup, trials, guidance)
        agent._files[Path(os.path.realpath(path))] = fingerprint
        return agent

    @classmethod
    def of(
        cls, setup: Setup, trials: Iterable[Trial], guidance: Guidance | None = None
    ) -> Self:
        """Return the agent with trials that are kept elsewhere, as they are.

        Args:
            setup: Space, goal, method, seed.
            trials: Every trial, by id from 1.
            guidance: What is held of the other sites; None: nothing.
        """
        agent = cls.__new__(cls)
        agent._begin(setup, Guidance() if guidance is None else guidance)
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
        block that raises changes nothing.

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
            agent = cls.load(path)
            agent._held = target
            try:
                yield agent
                agent.save(path)
            finally:
                agent._held = None

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
        counts = {
            state: len(self._book.in_state(state))
            for state in TrialState
            if self._book.in_state(state)
        }
        states = ", ".join(f"{n} {state}" for state, n in counts.items()) or "none"
        head = f"{self._setup.method}, goal {self.goal}: trials: {states}"
        best, guidance = self.best(), self.guidance
        lines = [head, str(best or "no result yet"), str(guidance)]
        return "\n".join([*lines, *guidance.verdict])

    def _ask_one(self, due_at: int) -> Trial:
        with single_blas_thread():
            x, origin, is_guided = self._next_point()
        return self._book.open(
            self.space.from_unit(x), origin, guided=is_guided, due_at=due_at
        )

    def _next_point(self) -> tuple[Point, Origin, bool]:
        num_done = len(self._book.in_state(TrialState.DONE))
        num_pending = len(self._book.in_state(TrialState.PENDING))
        if num_done == 0 or num_done + num_pending < self._setup.num_initial:
            return self._design_point()
        return self._model_point()

    def _design_point(self) -> tuple[Point, Origin, bool]:
        trials = self._book.trials
        first = sum(trial.origin == Origin.DESIGN for trial in trials)
        missing = self._book.missing()
        known = self._book.data().X
        for k in range(first, first + MAX_SKIPS):
            x = design_point(self._setup, k)
            is_known = len(known) > 0 and bool((np.abs(known - x) < 1e-9).all(1).any())
            if not is_known and not missing.forbids(x[None])[0]:
                return x, Origin.DESIGN, False
        return self._filling_point(), Origin.FALLBACK, False

    def _model_point(self) -> tuple[Point, Origin, bool]:
        guidance = self._in_use
        is_guided = guidance.state == GuidanceState.ACTIVE
        if guidance.state == GuidanceState.STALE:
            warnings.warn(str(guidance), GuidanceWarning, stacklevel=4)
        try:
            x = self._policy.decide(
                self._fit(),
                self._policy.aim(self._study, guidance.packet if is_guided else None),
                self.t,
                self._address(self._book.next_id),
                self._book.missing(has_noise=self._setup.noise != 0.0),
            )
        except NUMERICAL as error:
            warnings.warn(
                f"The model cannot be used ({error}); a point that fills the space is "
                "proposed instead.",
                FallbackWarning,
                stacklevel=4,
            )
            x = None
        if x is None or not np.isfinite(x).all():
            return self._filling_point(), Origin.FALLBACK, False
        return x, Origin.MODEL, is_guided

    def _filling_point(self) -> Point:
        missing = self._book.missing(has_noise=self._setup.noise != 0.0)
        known = self._book.points(list(self._book.trials))
        x = filling_point(self._setup, self._book.next_id, known, missing.forbids)
        if missing.forbids(x[None])[0]:
            warnings.warn(
                "Every point that was found is pending, failed nearby or, without "
                "noise, known already; one of them is asked again.",
                FallbackWarning,
                stacklevel=5,
            )
        return x

    def _fit(self) -> Fitted:
        """Return the posterior of what was told so far, fitted once."""
        told = self._book.num_told
        if self._fitted is None or self._fitted[0] != told:
            with single_blas_thread():
                self._fitted = told, self._policy.fit(self._book.data())
            self._insight = None
        return self._fitted[1]

    def _study(self) -> Any:
        """Return the strategy's insight into the fit, computed once per fit."""
        fitted = self._fit()
        if self._insight is None:
            self._insight = self._policy.study(fitted)
        return self._insight

    @property
    def _in_use(self) -> Guidance:
        """What is held, and whether it is used; nothing is computed."""
        held = self._guidance
        age = self._book.results_since(held.since)
        if held.state == GuidanceState.ACTIVE and age >= self._setup.packet_lifetime:
            return replace(
                held,
                state=GuidanceState.STALE,
                reason=f"{age} results came after the upload that the packet answers",
            )
        return held

    def _judgement(self, held: Guidance) -> Judgement | None:
        """Return what the own data say of the models, None of fewer than two."""
        models, fitted = self._policy.models, None
        if models and held.state == GuidanceState.ACTIVE:
            fitted = self.fitted
        if fitted is None:
            return None
        try:
            with single_blas_thread():
                aimed = self._policy.aim(self._study, held.packet)
                weights = dict(self._policy.judgement(aimed))
        except NUMERICAL:
            return None
        if len(weights) < 2:
            return None
        return Judgement(weights=weights, models=models)

    def _address(self, t: int) -> Address:
        return self._setup.streams.of(self._setup.agent_id, t)

    def _find(self, trial: Trial | int | Mapping[str, Any]) -> Trial:
        """Return the trial that is meant; values never asked open one."""
        if isinstance(trial, Mapping):
            values = self.space.clean(trial)
            return self._book.find_open(values) or self._book.open(values, Origin.OWN)
        trial_id = trial.id if isinstance(trial, Trial) else trial
        if not is_whole_number(trial_id) or trial_id not in self._book:
            raise DataError(
                f"Expected a trial of this agent, its id (1 to "
                f"{self._book.next_id - 1}) or values by name, got {shown(trial)}."
            )
        known = self._book[int(trial_id)]
        if isinstance(trial, Trial) and trial.values != known.values:
            raise DataError(
                f"Trial {trial_id} of this agent has other values; was it asked from "
                "another agent?"
            )
        return known
