"""What the rest of the package knows of a strategy, a rule and a method.

A strategy is one record: everything other code asks about it is a field here. So is a
rule. A method is a pair of the two.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.decision.repeats import OnRepeat, ask_again
from guidefbo.agent.decision.rule import Rule as DecisionRule
from guidefbo.agent.decision.search import SearchSettings
from guidefbo.agent.policy import Policy
from guidefbo.agent.side import AgentSide
from guidefbo.agent.surrogate.model import Model, ModelSettings
from guidefbo.core.arrays import Point
from guidefbo.core.designs import interlocking_design
from guidefbo.core.domain import Domain
from guidefbo.core.errors import SettingsError
from guidefbo.core.names import require_name
from guidefbo.core.settings import Setting, check_settings, make, settings_of
from guidefbo.core.space.space import Space
from guidefbo.core.streams import Streams
from guidefbo.methods.default import DEFAULT_METHOD
from guidefbo.server.side import ServerSettings, ServerSide
from guidefbo.wire.envelope import Message

Design = Callable[[Any, tuple[int, int, int], Streams], NDArray[np.float64]]
"""(agent settings, (agents, points, dim), streams) -> initial points of all agents."""
Count = Callable[[Any, Any, int], tuple[int, int]]
"""(agent settings, server settings, dim) -> scalars up and down per agent and round."""
Words = Callable[[Any, Space], list[str]]
"""(body of a message, space) -> what it says in that space's own units, a line each."""

Place = Callable[[Any, Space], Point | None]
"""(body of a packet, space) -> where it points, a point of the cube."""


class AgentSettings(Protocol):
    """Settings of a strategy's private half: a frozen dataclass that builds it."""

    def build(self, domain: Domain, model: Model, search: SearchSettings) -> AgentSide:
        """Return the private half.

        Args:
            domain: Where queries may lie.
            model: How the objective is modelled.
            search: Effort of a search for a maximum.
        """
        ...


class RuleSettings(Protocol):
    """Settings of a rule: a frozen dataclass that builds it."""

    def build(self) -> DecisionRule:
        """Return the rule with these settings."""
        ...


class Liars(Protocol):
    """Sites of a simulated run that lie: the last ones."""

    @property
    def count(self) -> int:
        """How many."""
        ...

    def spoil(self, uploads: Sequence[Message | None], t: int) -> list[Message | None]:
        """Return the uploads of round t with those of the last sites replaced."""
        ...


class Solver(Protocol):
    """Another tool's optimiser of one site's objective, larger values being better."""

    def ask(self) -> Point:
        """Return the next query, a point of the unit cube."""
        ...

    def tell(self, x: Point, y: float) -> None:
        """Take the value observed at a query."""
        ...


class MakeSolver(Protocol):
    """Makes a solver that knows a site's initial observations."""

    def __call__(
        self,
        space: Space,
        data: Dataset,
        *,
        rule: str,
        agent_id: int,
        seed: int,
        settings: Mapping[str, Any],
    ) -> Solver:
        """Return the solver.

        Args:
            space: Search space of the problem.
            data: Initial points in the unit cube and what was observed there.
            rule: Name of the method's rule.
            agent_id: Zero-based number of the site.
            seed: Seed of the run.
            settings: Settings of the method that differ from the defaults.
        """
        ...


class LiarSettings(Protocol):
    """Settings of simulated runs in which some sites lie."""

    def build(self, num_agents: int, num_rounds: int) -> Liars | None:
        """Return the sites that lie, None where nobody does."""
        ...


class HostileSettings(Protocol):
    """Settings of simulated runs in which all packets are false."""

    def build(self, server: ServerSide) -> ServerSide:
        """Return the server of the run, the true one where it is not hostile."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A way to decide on the next query."""

    name: str
    """Name, the end of a method's name."""
    text: str
    """What it is, in one line."""
    settings: type[RuleSettings]
    """Its settings, which build it."""
    is_general: bool = True
    """Whether it goes with every strategy that names no rules of its own."""
    dash: str = "solid"
    """How its lines are drawn: solid, dashed, dotted, dashdot."""
    seconds: float = 0.0
    """Roughly by how much longer a full run takes than with UCB, on an ordinary
    core."""

    def __post_init__(self) -> None:
        require_name("The name of a rule", self.name)
        settings_of(self.settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """A way to exchange: what agents tell the server and what they make of the answer.

    >>> from guidefbo.methods.registry import find_strategy
    >>> find_strategy("guide").messages[0].__name__
    'OptimumUpload'
    """

    name: str
    """Name, the beginning of a method's name."""
    text: str
    """What is exchanged, in one line."""
    agent: type[AgentSettings]
    """Settings of the private half, which build it."""
    server: type[ServerSettings] | None = None
    """Settings of the shared half, which build it; None where nothing is exchanged."""
    messages: tuple[type[Any], type[Any]] | None = None
    """What goes up and what comes down; None where nothing is exchanged."""
    version: int = 1
    """Version of the messages: another one is refused."""
    rules: tuple[str, ...] = ()
    """Rules it goes with; none: every general one. A single rule is left out of the
    method's name."""
    is_plain: bool = False
    """Whether agents work alone; its methods are named by their rule."""
    is_control: bool = False
    """Whether it only pretends to exchange, so that gains can be told from luck."""
    is_ceiling: bool = False
    """Whether it shares all raw observations, so that others can be told which share
    of what that brings they bring."""
    alone: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Settings under which nothing of the other agents is used."""
    design: Design = interlocking_design
    """Initial points of a simulated run."""
    on_repeat: OnRepeat = ask_again
    """What becomes of a query that was observed before."""
    liars: type[LiarSettings] | None = None
    """Settings of simulated runs in which some sites lie."""
    hostile: type[HostileSettings] | None = None
    """Settings of simulated runs in which all packets are false."""
    solver: MakeSolver | None = None
    """Another tool's optimiser in the place of the agent, in simulated runs; None: the
    usual agent."""
    site_refusal: str | None = None
    """Why a real site cannot use it, in one sentence; None: it can."""
    paper_column: str | None = None
    """Which strategy of the paper's tables it is; None: none."""
    paper_scalars: Count | None = None
    """The paper's own count of what is sent; None: the paper has none."""
    seconds: float = 15.0
    """Rough time of a full run on an ordinary core with UCB, or with its only rule: 16
    agents, 30 first points and 50 rounds in ten dimensions."""
    words: tuple[Words, Words] | None = None
    """What an upload and a packet say, in the words and units of a site's own space;
    None: only their sizes can be told."""
    place: Place | None = None
    """Where a packet points, in the unit cube; None: its packets name no place."""
    colour: str | None = None
    """Colour of its lines in figures; None: one that is free."""

    def __post_init__(self) -> None:
        require_name("The name of a strategy", self.name)
        server = () if self.server is None else (self.server,)
        types = (self.agent, *server, *self.simulated)
        settings_of(ModelSettings, SearchSettings, *types)

    @property
    def simulated(self) -> tuple[type[Any], ...]:
        """Settings that only simulated runs have."""
        return tuple(kind for kind in (self.liars, self.hostile) if kind is not None)


@dataclass(frozen=True, slots=True)
class Method:
    """A pair of a strategy and a rule; either may be given as a record or by name.

    >>> Method("guide", "ucb").name
    'guide-ucb'
    """

    strategy: Strategy
    """How agents exchange."""
    rule: Rule
    """How they decide."""

    def __init__(self, strategy: Strategy | str, rule: Rule | str) -> None:
        """Pair a strategy with a rule."""
        from guidefbo.methods.registry import find_rule, find_strategy

        if not isinstance(strategy, Strategy):
            strategy = find_strategy(strategy)
        if not isinstance(rule, Rule):
            rule = find_rule(rule)
        object.__setattr__(self, "strategy", strategy)
        object.__setattr__(self, "rule", rule)

    @property
    def name(self) -> str:
        """The rule's name alone where there is no federation."""
        if self.strategy.is_plain:
            return self.rule.name
        if len(self.strategy.rules) == 1:
            return self.strategy.name
        return f"{self.strategy.name}-{self.rule.name}"

    @property
    def description(self) -> str:
        """One line for a listing."""
        return f"{self.rule.text}; {self.strategy.text}"

    @property
    def settings(self) -> dict[str, Setting]:
        """Everything that can be set at a site or at its server, by name."""
        s = self.strategy
        server = () if s.server is None else (s.server,)
        return settings_of(
            ModelSettings, SearchSettings, self.rule.settings, s.agent, *server
        )

    @property
    def run_settings(self) -> dict[str, Setting]:
        """Everything that can be set in a simulated run, by name."""
        return self.settings | settings_of(*self.strategy.simulated)

    def require_for_sites(self) -> None:
        """Refuse a method that no real site can use."""
        if self.strategy.site_refusal is not None:
            raise SettingsError(
                f"{self.name} runs in simulations only: {self.strategy.site_refusal}. "
                f"Try {DEFAULT_METHOD}."
            )

    def check(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return settings of a real site checked, or refuse them."""
        return check_settings(given, self.settings, self.name)

    def check_run(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return settings of a simulated run checked, or refuse them."""
        return check_settings(given, self.run_settings, self.name)

    def policy(self, given: Mapping[str, Any], domain: Domain, model: Model) -> Policy:
        """Return what an agent does with its data.

        Args:
            given: Settings that differ from the defaults.
            domain: Where queries may lie.
            model: How agents model their objectives.
        """
        search = make(SearchSettings, given)
        return Policy(
            domain=domain,
            model=model,
            side=make(self.strategy.agent, given).build(domain, model, search),
            rule=make(self.rule.settings, given).build(),
            search=search,
            on_repeat=self.strategy.on_repeat,
        )

    def server(self, given: Mapping[str, Any]) -> ServerSide | None:
        """Return the shared half, None where nothing is exchanged."""
        kind = self.strategy.server
        return None if kind is None else make(kind, given).build()

    def run_server(self, given: Mapping[str, Any]) -> ServerSide | None:
        """Return the shared half of a simulated run, which may be hostile."""
        server, kind = self.server(given), self.strategy.hostile
        if server is None or kind is None:
            return server
        return make(kind, given).build(server)

    def design(
        self, given: Mapping[str, Any], size: tuple[int, int, int], streams: Streams
    ) -> NDArray[np.float64]:
        """Return the initial points of a simulated run, (agents, points, dim)."""
        return self.strategy.design(make(self.strategy.agent, given), size, streams)

    def liars(
        self, given: Mapping[str, Any], num_agents: int, num_rounds: int
    ) -> Liars | None:
        """Return the agents that lie in a simulated run, None where nobody does."""
        kind = self.strategy.liars
        return None if kind is None else make(kind, given).build(num_agents, num_rounds)

    def paper_scalars(
        self, given: Mapping[str, Any], dim: int
    ) -> dict[str, int] | None:
        """Return the paper's own count of scalars, None where it has none."""
        s = self.strategy
        if s.paper_scalars is None:
            return None
        server = None if s.server is None else make(s.server, given)
        up, down = s.paper_scalars(make(s.agent, given), server, dim)
        return {"up_per_agent_round": up, "down_per_agent_round": down}
