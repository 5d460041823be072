"""Which method for which situation, with the figures that say so.

The figures are those of the tables in docs/results, and the tests hold them to it: a
table that is made anew and says something else makes them fail. The page
docs/guide/which-method.md and `guidefbo methods --advise` print what stands here.
"""

from dataclasses import dataclass
from enum import StrEnum

from guidefbo.methods.default import DEFAULT_METHOD, LONE_METHOD

NO_EVIDENCE = "not studied"
"""What is said where no study of ours speaks."""


class Measure(StrEnum):
    """What a figure is."""

    RATIO = "ratio"
    """Final regret over that of another method, geometric mean; below 1 is better. Its
    error is of the logarithm, over functions."""
    GAIN = "gain"
    """Mean paired difference of final values; above 0 is better."""
    MEAN = "mean"
    """Mean of final values over seeds; larger is better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number of a table, with its standard error."""

    method: str
    """The method it is of."""
    measure: Measure
    """What it is."""
    value: float
    """As the table has it, rounded to the decimals shown here."""
    error: float
    """Its standard error, rounded likewise."""
    digits: int
    """Decimals of both."""
    study: str
    """Folder or page below docs/results."""
    row: str
    """Conditions or task, as the table names them."""
    beside: str | None = None
    """The method it is compared with; None: a figure of its own."""
    unit: str = ""
    """Of a gain or a mean."""

    def __str__(self) -> str:
        value, error = (f"{x:.{self.digits}f}" for x in (self.value, self.error))
        unit = f" {self.unit}" if self.unit else ""
        match self.measure:
            case Measure.RATIO:
                return f"{self.method} / {self.beside} ×{value} (log ± {error})"
            case Measure.GAIN:
                sign = "+" if self.value >= 0.0 else ""
                said = f"{sign}{value} ± {error}{unit}"
                return f"{self.method} over {self.beside} {said}"
            case Measure.MEAN:
                return f"{self.method} {value} ± {error}{unit}"

    @property
    def page(self) -> str:
        """The page its table is on, below docs/results."""
        is_page = self.study.endswith(".md")
        return self.study if is_page else f"{self.study}/report.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A situation of a site, and what to use in it."""

    space: str
    """Kinds of parameters."""
    sites: str
    """How many sites exchange."""
    noise: str
    """Of one observation."""
    optima: str
    """Whether the sites' best points coincide."""
    advice: str
    """The method or methods, or that nobody knows."""
    figures: tuple[Figure, ...] = ()
    """What says so; none where no study of ours does."""

    @property
    def situation(self) -> str:
        """All four in one line."""
        return "; ".join((self.space, self.sites, self.noise, self.optima))


def _off_centre(
    level: int,
    method: str,
    value: float,
    error: float,
    *,
    study: str = "shape-screened",
    noise: str = "",
) -> Figure:
    return Figure(
        method=method,
        beside="ucb",
        measure=Measure.RATIO,
        value=value,
        error=error,
        digits=2,
        study=study,
        row=f"Level {level}, common shift 0.3{noise}",
    )


def _other(conditions: str, method: str, value: float, error: float) -> Figure:
    """Six functions at Level 2, where something differs from the usual conditions."""
    return _off_centre(
        2, method, value, error, study="shape-conditions", noise=conditions
    )


def _gain(
    task: str, method: str, value: float, error: float, digits: int, unit: str
) -> Figure:
    return Figure(
        method=method,
        beside="ucb",
        measure=Measure.GAIN,
        value=value,
        error=error,
        digits=digits,
        study="realworld",
        row=task,
        unit=unit,
    )


def _mean(
    task: str, method: str, value: float, error: float, digits: int, unit: str
) -> Figure:
    return Figure(
        method=method,
        measure=Measure.MEAN,
        value=value,
        error=error,
        digits=digits,
        study="realworld",
        row=task,
        unit=unit,
    )


FLOATS = "real numbers"
MIXED = "choices among numbers"
ALONE = "alone"
NOISY = "noise 0.1 of the spread"
OWN_NOISE = "the task's own noise"
LOW_NOISE = ", noise 0.01 scaled"
"""How tables of low noise name it, after the other conditions."""
EVEN = f"{DEFAULT_METHOD} or consensus-ucb, not told apart"
UNSETTLED = f"{DEFAULT_METHOD}; no gain over ucb is told from the noise"

CASES = (
    Case(
        space=f"{FLOATS} (10)",
        sites=ALONE,
        noise=NOISY,
        optima="tasks of Levels 1, 2, 3",
        advice=LONE_METHOD,
        figures=(
            _off_centre(1, LONE_METHOD, 0.70, 0.10),
            _off_centre(2, LONE_METHOD, 0.74, 0.10),
            _off_centre(3, LONE_METHOD, 0.65, 0.12),
        ),
    ),
    Case(
        space=f"{FLOATS} (7, warfarin)",
        sites=ALONE,
        noise=OWN_NOISE,
        optima="-",
        advice=LONE_METHOD,
        figures=(
            _mean("warfarin", LONE_METHOD, 48.08, 0.12, 2, "%"),
            _mean("warfarin", "ucb", 46.64, 0.23, 2, "%"),
        ),
    ),
    Case(
        space=f"{MIXED} (suzuki)",
        sites=ALONE,
        noise=OWN_NOISE,
        optima="-",
        advice=f"{LONE_METHOD}; Optuna's GP sampler has the higher mean",
        figures=(
            _mean("suzuki", LONE_METHOD, 69.0, 0.8, 1, "%"),
            _mean("suzuki", "trend-nei", 66.7, 1.2, 1, "%"),
            _mean("suzuki", "ucb", 66.6, 1.3, 1, "%"),
            _mean("suzuki", "nei", 65.8, 1.7, 1, "%"),
        ),
    ),
    Case(
        space=f"{FLOATS} (10)",
        sites="16 sites",
        noise=NOISY,
        optima="the same (Level 1)",
        advice=EVEN,
        figures=(
            _off_centre(1, "shape-ucb", 0.37, 0.29),
            _off_centre(1, "consensus-ucb", 0.37, 0.24),
            _off_centre(1, "guide-ucb", 0.73, 0.07),
        ),
    ),
    Case(
        space=f"{FLOATS} (10)",
        sites="16 sites",
        noise=NOISY,
        optima="near each other (Level 2)",
        advice=EVEN,
        figures=(
            _off_centre(2, "shape-ucb", 0.50, 0.19),
            _off_centre(2, "consensus-ucb", 0.51, 0.16),
            _off_centre(2, "guide-ucb", 0.78, 0.06),
        ),
    ),
    Case(
        space=f"{FLOATS} (10)",
        sites="16 sites",
        noise=NOISY,
        optima="far from each other (Level 3)",
        advice=f"{DEFAULT_METHOD}, or {LONE_METHOD} alone: the model is what helps",
        figures=(
            _off_centre(3, "shape-ucb", 0.63, 0.14),
            _off_centre(3, "trend-ucb", 0.65, 0.12),
            _off_centre(3, "consensus-ucb", 0.82, 0.08),
            _off_centre(3, "guide-ucb", 0.97, 0.05),
        ),
    ),
    Case(
        space=f"{FLOATS} (10)",
        sites="16 sites",
        noise="noise 0.01 of the spread",
        optima="the same (Level 1)",
        advice="consensus-ucb; shape was not run",
        figures=(
            _off_centre(
                1, "consensus-ucb", 0.43, 0.24, study="consensus", noise=LOW_NOISE
            ),
            _off_centre(1, "guide-ucb", 0.76, 0.07, study="offcentre", noise=LOW_NOISE),
        ),
    ),
    Case(
        space=f"{FLOATS} (10)",
        sites="16 sites",
        noise="noise 0.01 of the spread",
        optima="near each other (Level 2)",
        advice=f"{DEFAULT_METHOD}, on six functions; consensus-ucb, on twelve",
        figures=(
            _other(LOW_NOISE, "shape-ucb", 0.46, 0.28),
            _off_centre(
                2, "consensus-ucb", 0.62, 0.10, study="consensus", noise=LOW_NOISE
            ),
            _off_centre(2, "guide-ucb", 0.80, 0.07, study="offcentre", noise=LOW_NOISE),
        ),
    ),
    Case(
        space=f"{FLOATS} (10)",
        sites="3 sites",
        noise=NOISY,
        optima="near each other (Level 2)",
        advice=f"{DEFAULT_METHOD}; no gain over {LONE_METHOD} alone is told apart",
        figures=(
            _other(", 3 agents", "shape-ucb", 0.78, 0.17),
            _other(", 3 agents", "trend-ucb", 0.85, 0.11),
        ),
    ),
    Case(
        space=f"{FLOATS} (10)",
        sites="6 sites",
        noise=NOISY,
        optima="near each other (Level 2)",
        advice=DEFAULT_METHOD,
        figures=(
            _other(", 6 agents", "shape-ucb", 0.62, 0.23),
            _other(", 6 agents", "trend-ucb", 0.84, 0.12),
        ),
    ),
    Case(
        space=f"{FLOATS} (10)",
        sites="40 sites",
        noise=NOISY,
        optima="near each other (Level 2)",
        advice=DEFAULT_METHOD,
        figures=(
            _other(", 40 agents", "shape-ucb", 0.48, 0.28),
            _other(", 40 agents", "trend-ucb", 0.75, 0.15),
        ),
    ),
    Case(
        space=f"{FLOATS} (10)",
        sites="100 sites",
        noise=NOISY,
        optima="near each other (Level 2)",
        advice=DEFAULT_METHOD,
        figures=(
            _other(", 100 agents", "shape-ucb", 0.46, 0.26),
            _other(", 100 agents", "trend-ucb", 0.75, 0.14),
        ),
    ),
    Case(
        space=f"{FLOATS} (2)",
        sites="16 sites",
        noise=NOISY,
        optima="near each other (Level 2)",
        advice=f"{DEFAULT_METHOD}; no gain over ucb is told from the noise",
        figures=(
            _other(", d = 2", "shape-ucb", 0.84, 0.31),
            _other(", d = 2", "trend-ucb", 1.15, 0.18),
        ),
    ),
    Case(
        space=f"{FLOATS} (5)",
        sites="16 sites",
        noise=NOISY,
        optima="near each other (Level 2)",
        advice=DEFAULT_METHOD,
        figures=(
            _other(", d = 5", "shape-ucb", 0.55, 0.19),
            _other(", d = 5", "trend-ucb", 0.77, 0.17),
        ),
    ),
    Case(
        space=f"{FLOATS} (20)",
        sites="16 sites",
        noise=NOISY,
        optima="near each other (Level 2)",
        advice=DEFAULT_METHOD,
        figures=(
            _other(", d = 20", "shape-ucb", 0.38, 0.45),
            _other(", d = 20", "trend-ucb", 0.57, 0.28),
        ),
    ),
    Case(
        space=f"{FLOATS} (40)",
        sites="16 sites",
        noise=NOISY,
        optima="near each other (Level 2)",
        advice=f"{DEFAULT_METHOD}, or {LONE_METHOD} alone: the model is what helps",
        figures=(
            _other(", d = 40", "shape-ucb", 0.41, 0.46),
            _other(", d = 40", "trend-ucb", 0.47, 0.35),
        ),
    ),
    Case(
        space=f"{FLOATS} (7, warfarin)",
        sites="21 sites",
        noise=OWN_NOISE,
        optima="unknown",
        advice="consensus-ucb or shape-ucb",
        figures=(
            _gain("warfarin", "consensus-ucb", 2.28, 0.50, 2, "%"),
            _gain("warfarin", "shape-ucb", 1.66, 0.32, 2, "%"),
            _gain("warfarin", "guide-ucb", 0.23, 0.37, 2, "%"),
        ),
    ),
    Case(
        space=f"{FLOATS} (2, landmine)",
        sites="29 sites",
        noise=OWN_NOISE,
        optima="unknown",
        advice=UNSETTLED,
        figures=(
            _gain("landmine", "shape-ucb", 0.0011, 0.0018, 4, "AUC"),
            _gain("landmine", "consensus-ucb", -0.0006, 0.0013, 4, "AUC"),
            _gain("landmine", "guide-ucb", -0.0010, 0.0014, 4, "AUC"),
        ),
    ),
    Case(
        space=f"{FLOATS} (3, activity)",
        sites="30 sites",
        noise=OWN_NOISE,
        optima="unknown",
        advice=UNSETTLED,
        figures=(
            _gain("activity", "shape-ucb", 0.0002, 0.0002, 4, "accuracy"),
            _gain("activity", "consensus-ucb", -0.0002, 0.0002, 4, "accuracy"),
            _gain("activity", "guide-ucb", 0.0000, 0.0003, 4, "accuracy"),
        ),
    ),
    Case(
        space="whole numbers (5, hpobench-mlp)",
        sites="8 sites",
        noise=OWN_NOISE,
        optima="unknown",
        advice=UNSETTLED,
        figures=(
            _gain("hpobench-mlp", "shape-ucb", 0.0016, 0.0013, 4, "accuracy"),
            _gain("hpobench-mlp", "consensus-ucb", 0.0007, 0.0007, 4, "accuracy"),
            _gain("hpobench-mlp", "guide-ucb", 0.0026, 0.0018, 4, "accuracy"),
        ),
    ),
    Case(
        space=f"{MIXED} (suzuki)",
        sites="4 sites",
        noise=OWN_NOISE,
        optima="unknown",
        advice=UNSETTLED,
        figures=(
            _gain("suzuki", "shape-ucb", 3.5, 1.6, 1, "%"),
            _gain("suzuki", "consensus-ucb", 3.4, 1.7, 1, "%"),
            _gain("suzuki", "guide-ucb", 1.2, 1.2, 1, "%"),
        ),
    ),
    Case(
        space=f"{MIXED} (fedhpo)",
        sites="3 sites",
        noise=OWN_NOISE,
        optima="unknown",
        advice=UNSETTLED,
        figures=(
            _gain("fedhpo", "shape-ucb", 0.0000, 0.0001, 4, "accuracy"),
            _gain("fedhpo", "consensus-ucb", -0.0015, 0.0010, 4, "accuracy"),
            _gain("fedhpo", "guide-ucb", -0.0008, 0.0006, 4, "accuracy"),
        ),
    ),
    Case(
        space=FLOATS,
        sites="2 sites",
        noise="any",
        optima="any",
        advice=NO_EVIDENCE,
    ),
    Case(
        space="choices only",
        sites="any number",
        noise="any",
        optima="any",
        advice=NO_EVIDENCE,
    ),
    Case(
        space=FLOATS,
        sites="any number",
        noise="noise as large as the spread",
        optima="any",
        advice=NO_EVIDENCE,
    ),
)
"""Situations, those of a lone site first."""
