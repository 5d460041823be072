"""Four standard problems with constraints on what is measured, to be minimised.

Their published definitions. A site names at most three outcomes with a limit, so that
the welded beam's six constraints are told as three; what is allowed is the same set.
Every tool is told the same outcomes.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Values = Mapping[str, float]


@dataclass(frozen=True)
class Axis:
    """One parameter: its bounds, and the distance of its values where it has steps."""

    low: float
    high: float
    step: float | None = None

    def nearest(self, value: float) -> float:
        """Return the value within the bounds, and on a step, that is nearest."""
        value = min(max(value, self.low), self.high)
        if self.step is None:
            return value
        return self.low + self.step * round((value - self.low) / self.step)


@dataclass(frozen=True)
class Problem:
    """A function to minimise, and outcomes that must not exceed their limits."""

    name: str
    citation: str
    axes: Mapping[str, Axis]
    function: Callable[[Values], float]
    outcomes: Mapping[str, Callable[[Values], float]]
    limits: Mapping[str, float]
    best: float
    """The best value known that keeps the limits."""
    best_at: tuple[float, ...]
    """Where that is."""
    budget: int
    """Evaluations a run, first points included."""

    def measure(self, values: Values) -> tuple[float, dict[str, float]]:
        """Return the objective and the outcomes."""
        told = {name: float(f(values)) for name, f in self.outcomes.items()}
        return float(self.function(values)), told

    def keeps(self, outcomes: Values, slack: float = 0.0) -> bool:
        """Return whether outcomes keep their limits."""
        return all(outcomes[n] <= limit + slack for n, limit in self.limits.items())

    @property
    def num_first(self) -> int:
        """First points, the same for every tool."""
        return 2 * (len(self.axes) + 1)


# Gardner et al., ICML 2014, simulation 2: the limit is kept in a few small spots.


def _gardner(v: Values) -> float:
    return math.sin(v["x"]) + v["y"]


def _gardner_limit(v: Values) -> float:
    return math.sin(v["x"]) * math.sin(v["y"])


# Townsend's function inside a heart-shaped curve.


def _townsend(v: Values) -> float:
    x, y = v["x"], v["y"]
    return -(math.cos((x - 0.1) * y) ** 2) - x * math.sin(3.0 * x + y)


def _townsend_limit(v: Values) -> float:
    x, y = v["x"], v["y"]
    t = math.atan2(x, y)
    waves = 2.0 * math.cos(t) - 0.5 * math.cos(2 * t) - 0.25 * math.cos(3 * t)
    waves -= 0.125 * math.cos(4 * t)
    return x**2 + y**2 - waves**2 - (2.0 * math.sin(t)) ** 2


# Pressure vessel: shell and head in sixteenths of an inch, radius and length.


def _vessel(v: Values) -> float:
    shell, head, radius, length = v["shell"], v["head"], v["radius"], v["length"]
    cost = 0.6224 * shell * radius * length + 1.7781 * head * radius**2
    return cost + 3.1661 * shell**2 * length + 19.84 * shell**2 * radius


def _volume(v: Values) -> float:
    radius, length = v["radius"], v["length"]
    return math.pi * radius**2 * length + 4.0 / 3.0 * math.pi * radius**3


# Welded beam: thickness and length of the weld, height and thickness of the bar.
LOAD, SPAN, YOUNG, SHEAR = 6000.0, 14.0, 30e6, 12e6


def _beam(v: Values) -> float:
    bar = 0.04811 * v["height"] * v["bar"] * (14.0 + v["length"])
    return 1.10471 * v["weld"] ** 2 * v["length"] + bar


def _weld_stress(v: Values) -> float:
    weld, length, height = v["weld"], v["length"], v["height"]
    moment = LOAD * (SPAN + length / 2.0)
    half = (weld + height) / 2.0
    arm = math.sqrt(length**2 / 4.0 + half**2)
    polar = 2.0 * math.sqrt(2.0) * weld * length * (length**2 / 12.0 + half**2)
    first, second = LOAD / (math.sqrt(2.0) * weld * length), moment * arm / polar
    return math.sqrt(first**2 + first * second * length / arm + second**2)


def _bending(v: Values) -> float:
    return 6.0 * LOAD * SPAN / (v["bar"] * v["height"] ** 2)


def _other_shares(v: Values) -> float:
    """Return the largest share used up: buckling, deflection, thickness, cost."""
    weld, length, height, bar = v["weld"], v["length"], v["height"], v["bar"]
    buckling = 4.013 * YOUNG * height * bar**3 / 6.0 / SPAN**2
    buckling *= 1.0 - height / (2.0 * SPAN) * math.sqrt(YOUNG / (4.0 * SHEAR))
    deflection = 4.0 * LOAD * SPAN**3 / (YOUNG * height**3 * bar)
    cost = 0.10471 * weld**2 + 0.04811 * height * bar * (14.0 + length)
    return max(LOAD / buckling, deflection / 0.25, weld / bar, cost / 5.0)


CATALOG = (
    Problem(
        name="gardner",
        citation="Gardner et al., Bayesian Optimization with Inequality Constraints, "
        "ICML 2014, simulation 2",
        axes={"x": Axis(0.0, 6.0), "y": Axis(0.0, 6.0)},
        function=_gardner,
        outcomes={"c": _gardner_limit},
        limits={"c": -0.95},
        best=math.asin(0.95) - 1.0,
        best_at=(1.5 * math.pi, math.asin(0.95)),
        budget=30,
    ),
    Problem(
        name="townsend",
        citation="Townsend, Constrained optimization in Chebfun, 2014, in its modified "
        "form",
        axes={"x": Axis(-2.25, 2.25), "y": Axis(-2.5, 1.75)},
        function=_townsend,
        outcomes={"c": _townsend_limit},
        limits={"c": 0.0},
        best=-2.0239884,
        best_at=(2.0052938, 1.1944509),
        budget=30,
    ),
    Problem(
        name="pressure-vessel",
        citation="Kannan and Kramer, J. Mech. Des. 116, 1994, as in Coello Coello and "
        "Mezura Montes, Adv. Eng. Inform. 16, 2002; its fourth constraint, a length of "
        "at most 240, holds within the bounds",
        axes={
            "shell": Axis(0.0625, 6.1875, 0.0625),
            "head": Axis(0.0625, 6.1875, 0.0625),
            "radius": Axis(10.0, 200.0),
            "length": Axis(10.0, 200.0),
        },
        function=_vessel,
        outcomes={
            "hoop": lambda v: 0.0193 * v["radius"] - v["shell"],
            "cap": lambda v: 0.00954 * v["radius"] - v["head"],
            "lack": lambda v: 1296000.0 - _volume(v),
        },
        limits={"hoop": 0.0, "cap": 0.0, "lack": 0.0},
        best=6059.714335,
        best_at=(0.8125, 0.4375, 42.0984455958549, 176.636595842439),
        budget=50,
    ),
    Problem(
        name="welded-beam",
        citation="Rao, Engineering Optimization, 1996, as in Coello Coello and Mezura "
        "Montes, Adv. Eng. Inform. 16, 2002; buckling, deflection, thickness and cost "
        "are one outcome, the largest share of a limit that is used up",
        axes={
            "weld": Axis(0.125, 10.0),
            "length": Axis(0.1, 10.0),
            "height": Axis(0.1, 10.0),
            "bar": Axis(0.1, 10.0),
        },
        function=_beam,
        outcomes={"stress": _weld_stress, "bending": _bending, "share": _other_shares},
        limits={"stress": 13600.0, "bending": 30000.0, "share": 1.0},
        best=1.724852309,
        best_at=(0.205729639786, 3.470488665628, 9.036623910357, 0.205729639786),
        budget=50,
    ),
)
PROBLEMS = {problem.name: problem for problem in CATALOG}
