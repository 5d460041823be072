"""What the numbers of a table or a curve are: a regret, or a task's own metric."""

from dataclasses import dataclass

from guidefbo.experiments.outcome import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A quantity that is averaged over the sites of a run."""

    name: str
    """What it is called."""
    unit: str = ""
    """Its unit, empty for none."""
    is_max: bool = False
    """Whether higher is better."""

    @property
    def label(self) -> str:
        """Its name with its unit, as on an axis."""
        return f"mean {self.name}" + (f" [{self.unit}]" if self.unit else "")

    @property
    def better(self) -> str:
        """Which direction is the better one."""
        return f"{'higher' if self.is_max else 'lower'} is better"

    def cost(self, value: float) -> float:
        """Return the value so that lower is better."""
        return -value if self.is_max else value

    def amount(self, text: str) -> str:
        """Return a number with the unit, or with the name where there is none."""
        return f"{text} {self.unit or self.name}"


REGRET = Measure(name="simple regret")


def measure_of(outcome: Outcome) -> Measure:
    """Return what the main curve of an outcome is; its file is not trusted."""
    metric = outcome.metric
    if not metric:
        return REGRET
    return Measure(
        name=str(metric.get("name") or "value"),
        unit=str(metric.get("unit") or ""),
        is_max=metric.get("direction") != "min",
    )
