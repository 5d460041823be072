"""The configuration of an agent, fixed at creation."""

from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Self, cast

from guidefbo.agent.dataset import MAX_VALUE
from guidefbo.core.arrays import Point
from guidefbo.core.checks import (
    MAX_AGENTS,
    MAX_SEED,
    is_finite_number,
    plain,
    require_count,
    require_share,
    shown,
)
from guidefbo.core.errors import SettingsError
from guidefbo.core.names import require_name
from guidefbo.core.settings import Setting
from guidefbo.core.space.digits import digits_of
from guidefbo.core.space.form import fingerprint, space_from_form, space_to_form
from guidefbo.core.space.goal import require_goal
from guidefbo.core.space.labels import check_label
from guidefbo.core.space.overshoot import OVERSHOOT
from guidefbo.core.space.parameters import Float
from guidefbo.core.space.region import Region
from guidefbo.core.space.space import Space
from guidefbo.core.streams import Address, Streams
from guidefbo.methods.default import DEFAULT_METHOD
from guidefbo.site.labels import VALUE, Labels
from guidefbo.site.outcome import MAX_OUTCOMES, Outcome
from guidefbo.wire.envelope import Terms

if TYPE_CHECKING:
    # The method and what it needs are loaded when it is looked into.
    from guidefbo.agent.policy import Policy
    from guidefbo.methods.record import Method
    from guidefbo.server.side import ServerSide
    from guidefbo.site.guidance import Door

MAX_RESULTS = 10**9
"""More results than that were never told to anybody."""
COUNTS = (
    ("seed", 0, MAX_SEED),
    ("agent_id", 0, MAX_AGENTS - 1),
    ("expire_after", 1, MAX_RESULTS),
    ("packet_lifetime", 1, MAX_RESULTS),
    ("patience", 0, MAX_RESULTS),
)
"""Whole numbers of a setup, the least and the most each may be."""
MAX_DESIGN = 10**7
"""Most numbers in the initial designs of a federation: all of them are laid out."""
LATER = frozenset(
    {
        "overshoot",
        "patience",
        "outcomes",
        "within",
        "without",
        "fixed",
        "former",
        "objective",
        "unit",
        "outcome_bounds",
    }
)
"""Fields that files of version 2 do not have; their defaults are what was meant."""
MIN_INITIAL = 5
MAX_INITIAL = 20
"""Limits of the default size of the initial design, two points a parameter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Space, goal, method and seed of one agent."""

    space: Space
    """The search space."""
    goal: str
    """Either max or min."""
    method: "str | Method" = DEFAULT_METHOD
    """Name of a method, or a record, which is entered under its name."""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Settings of the method that differ from the defaults."""
    seed: int = 0
    """Root of all randomness."""
    noise: float | None = None
    """Standard deviation of one observation, or None to fit it."""
    initial: int | None = None
    """Results before the model takes over; None: two per parameter, 5 to 20."""
    agent_id: int = 0
    """Zero-based number of this site in its federation."""
    num_agents: int | None = None
    """Number of sites, where it is known; they then share one seed and one design."""
    expire_after: int = 50
    """A pending trial expires once that many results more than were out were told."""
    packet_lifetime: int = 10
    """Guidance is stale once that many results came after the upload it answers."""
    site: str | None = None
    """Name of this site in its federation; None: by its number."""
    federation: str = "default"
    """Name of the federation."""
    overshoot: float = OVERSHOOT
    """How far beyond its bounds a parameter may have been run, as a share of them."""
    patience: int = 3
    """The site works alone once its own data spoke against the others in so many rounds
    after each other; 0: never."""
    outcomes: tuple[Outcome, ...] = ()
    """Further measured outcomes that must keep a limit."""
    within: Mapping[str, tuple[float, float]] = field(
        default_factory=dict[str, tuple[float, float]]
    )
    """Narrower bounds that this site keeps when it asks, by name."""
    without: Mapping[str, tuple[Any, ...]] = field(
        default_factory=dict[str, tuple[Any, ...]]
    )
    """Options that this site never asks for, by name."""
    fixed: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Values that this site always asks for, by name."""
    former: tuple[Space, ...] = ()
    """The space as it was before it was changed, the oldest first."""
    objective: str | None = None
    """Name of what is optimised, for people."""
    unit: str | None = None
    """What it is measured in."""
    outcome_bounds: tuple[float | None, float | None] = (None, None)
    """Least and largest value it can have; pictures end there, the model does not."""
    knows_method: InitVar[bool] = True
    """Whether the method and its settings are checked here; otherwise by `checked`."""

    def __post_init__(self, knows_method: bool) -> None:
        if not isinstance(self.space, Space):
            raise SettingsError(
                f"space must be a guidefbo.Space, got {shown(self.space)}. For example "
                "Space(dose=Float(0, 1))."
            )
        require_goal(self.goal)
        if not isinstance(self.settings, Mapping):
            raise SettingsError(
                "settings must hold values by name, as in {'beta': 2.0}, got "
                f"{shown(self.settings)}."
            )
        if knows_method or not isinstance(self.method, str):
            self._check_method()
        for name, low, high in COUNTS:
            self._set(name, require_count(name, getattr(self, name), low, high))
        self._set("site", f"site-{self.agent_id}" if self.site is None else self.site)
        for name in ("site", "federation"):
            require_name(name, getattr(self, name))
        for name, low in (("initial", 1), ("num_agents", self.agent_id + 1)):
            if getattr(self, name) is not None:
                count = require_count(name, getattr(self, name), low, MAX_AGENTS)
                self._set(name, count)
        size = (self.num_agents or 1) * self.num_initial * len(self.space.parameters)
        if size > MAX_DESIGN:
            raise SettingsError(
                f"num_agents times initial times parameters must be at most "
                f"{MAX_DESIGN}, got {size}. Lower initial, or leave num_agents out."
            )
        check_label("objective", self.objective)
        check_label("unit", self.unit)
        if self.objective in self.space.parameters:
            raise SettingsError(
                f"The objective cannot have the name of a parameter, {self.objective}."
            )
        self._set("outcome_bounds", _checked_bounds(self.outcome_bounds))
        self._set("outcomes", tuple(self.outcomes))
        self._check_outcomes()
        for name in ("within", "without", "fixed"):
            given = getattr(self, name)
            if not isinstance(given, Mapping):
                raise SettingsError(f"{name} must hold limits by name, got {given!r}.")
        self._set("within", {n: tuple(ends) for n, ends in self.within.items()})
        self._set("without", {n: tuple(gone) for n, gone in self.without.items()})
        _ = self.region  # Refused here, not at the first question.
        require_share("overshoot", self.overshoot)
        self._set("overshoot", float(self.overshoot))
        self._set("noise", plain(self.noise))
        if self.noise is not None and not (
            is_finite_number(self.noise) and 0.0 <= self.noise <= MAX_VALUE
        ):
            raise SettingsError(
                "noise must be a finite standard deviation of at least 0, or not be "
                f"given, got {shown(self.noise)}."
            )

    def _check_outcomes(self) -> None:
        names = [o.name for o in self.outcomes if isinstance(o, Outcome)]
        if len(names) != len(self.outcomes) or len(names) > MAX_OUTCOMES:
            got = f"{len(names)}" if len(names) > MAX_OUTCOMES else shown(self.outcomes)
            raise SettingsError(
                f"outcomes must be at most {MAX_OUTCOMES} guidefbo.Outcome, got {got}."
            )
        named = [] if self.objective is None else [self.objective]
        taken = [*self.space.parameters, *named, *names]
        if twice := [name for name in names if taken.count(name) > 1]:
            raise SettingsError(
                "outcomes must be at most 3, each with a name of its own that no "
                f"parameter and not the objective has, got {shown(twice[0])} twice."
            )

    def _check_method(self) -> None:
        from guidefbo.methods.registry import find_method

        method = find_method(self.method)
        self._set("method", method.name)
        method.require_for_sites()
        given = {name: plain(value) for name, value in self.settings.items()}
        self._set("settings", method.check(given))

    def checked(self) -> Self:
        """Return the same setup, its method and settings checked as well."""
        return replace(self)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def _method(self) -> "Method":
        from guidefbo.methods.registry import find_method

        return find_method(self.method)

    @property
    def num_initial(self) -> int:
        """Results before the model takes over."""
        if self.initial is not None:
            return self.initial
        return min(max(MIN_INITIAL, 2 * len(self.space.parameters)), MAX_INITIAL)

    @property
    def labels(self) -> Labels:
        """Names and units, as people read them."""
        units = {name: p.unit for name, p in self.space.parameters.items()}
        digits = {name: digits_of(p) for name, p in self.space.parameters.items()}
        name = VALUE if self.objective is None else self.objective
        outcomes = {outcome.name: outcome.unit for outcome in self.outcomes}
        return Labels(
            units=units,
            digits=digits,
            objective=name,
            unit=self.unit,
            outcomes=outcomes,
        )

    @property
    def region(self) -> Region | None:
        """The part of the space that is asked, None where that is all of it."""
        if not (self.within or self.without or self.fixed):
            return None
        limits = {"within": self.within, "without": self.without, "fixed": self.fixed}
        return Region.of(self.space, **limits)

    def values_at(self, x: Point) -> dict[str, Any]:
        """Return the values that are asked at a point of the unit cube."""
        return self.space.from_unit(x, self.ends)

    @property
    def ends(self) -> dict[str, tuple[float, float]]:
        """Bounds of this site's own by name, equal ones of what is fixed."""
        always = {
            name: (value, value)
            for name, value in self.fixed.items()
            if isinstance(self.space.parameters[name], Float)
        }
        return {**self.within, **always}

    @property
    def version(self) -> int:
        """How often the space was changed, and one."""
        return len(self.former) + 1

    @property
    def streams(self) -> Streams:
        """All randomness of the agent."""
        return Streams(self.seed)

    def address(self, t: int) -> Address:
        """Return the randomness of this site at a trial or a number of results."""
        return self.streams.of(self.agent_id, t)

    def policy(self) -> "Policy":
        """Return what the agent does with its data."""
        from guidefbo.agent.surrogate.model import site_model

        domain = self.space.domain
        model = site_model(domain, self.noise, self.settings)
        return self._method.policy(self.settings, domain, model)

    def server_side(self) -> "ServerSide | None":
        """Return the shared half of the method, None where nothing is exchanged."""
        return self._method.server(self.settings)

    @property
    def packet_type(self) -> type[Any] | None:
        """What the method takes from its server, None where nothing is exchanged."""
        messages = self._method.strategy.messages
        return None if messages is None else messages[1]

    @property
    def terms(self) -> Terms:
        """What the messages of this agent are of."""
        strategy = self._method.strategy
        return Terms(
            federation=self.federation,
            space=fingerprint(self.space),
            strategy=strategy.name,
            strategy_version=strategy.version,
        )

    @staticmethod
    def settings_of(method: Any) -> dict[str, Setting]:
        """Return what can be set of a method."""
        from guidefbo.methods.registry import find_method

        return find_method(method).settings

    def to_form(self) -> dict[str, Any]:
        """Return the setup as plain data."""
        form = {f.name: getattr(self, f.name) for f in fields(self)}
        return form | {
            "space": space_to_form(self.space),
            "settings": dict(self.settings),
            "outcomes": [outcome.to_form() for outcome in self.outcomes],
            "within": {name: list(ends) for name, ends in self.within.items()},
            "without": {name: list(gone) for name, gone in self.without.items()},
            "fixed": dict(self.fixed),
            "outcome_bounds": list(self.outcome_bounds),
            "former": [space_to_form(space) for space in self.former],
        }

    @classmethod
    def from_form(cls, form: Mapping[str, Any], *, knows_method: bool = True) -> Self:
        """Check plain data and return the setup it describes.

        Args:
            form: The data.
            knows_method: Whether the method and its settings are checked as well.
        """
        known = {f.name for f in fields(cls)}
        missing = known - form.keys() - LATER
        if missing or not known.issuperset(form):
            raise SettingsError(
                f"Expected a setup with the fields {sorted(known)}; missing "
                f"{sorted(missing)}, unknown "
                f"{shown(sorted(form.keys() - known))}."
            )
        arguments: dict[str, Any] = dict(form)
        arguments["space"] = space_from_form(form["space"])
        former = form.get("former", [])
        if not isinstance(former, list):
            raise SettingsError(f"former must be a list, got {shown(former)}.")
        arguments["former"] = tuple(map(space_from_form, cast(list[Any], former)))
        outcomes = form.get("outcomes", [])
        if not isinstance(outcomes, list):
            raise SettingsError(f"outcomes must be a list, got {shown(outcomes)}.")
        items = cast(list[Any], outcomes)
        arguments["outcomes"] = tuple(map(Outcome.from_form, items))
        return cls(**arguments, knows_method=knows_method)


def _checked_bounds(given: Any) -> tuple[float | None, float | None]:
    """Return the least and the largest possible value, or refuse them."""
    ends: tuple[Any, ...] = ()
    if isinstance(given, tuple | list):
        ends = tuple(map(plain, cast(Sequence[Any], given)))
    is_pair = len(ends) == 2 and all(
        end is None or (is_finite_number(end) and abs(end) <= MAX_VALUE) for end in ends
    )
    if not is_pair or (None not in ends and not ends[0] < ends[1]):
        raise SettingsError(
            "outcome_bounds must be the least and the largest possible value, as in "
            f"(0, 100), None where there is no such end, got {shown(given)}."
        )
    low, high = (None if end is None else float(end) for end in ends)
    return low, high


def door_of(setup: Setup, policy: "Policy") -> "Door":
    """Return what a packet must be to be taken by an agent of this setup."""
    from guidefbo.site.guidance import Door

    return Door(
        terms=setup.terms,
        site=str(setup.site),
        packet_type=setup.packet_type,
        check=policy.check,
    )
