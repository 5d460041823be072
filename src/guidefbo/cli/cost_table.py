"""`guidefbo methods --cost`: what every method sends, counted and as in the paper."""

from rich.console import Console
from rich.progress import track
from rich.table import Table

from guidefbo.methods.registry import method_names
from guidefbo.simulation.method_costs import MethodCost, measure_costs


def print_costs(dim: int, console: Console, progress: Console) -> None:
    """Run every method for two small rounds and print what it sent."""
    costs = list(
        track(
            measure_costs(dim),
            description="counting messages",
            total=len(method_names()),
            console=progress,
            transient=True,
        )
    )
    table = Table(title=f"per agent and round, {dim} coordinates", title_justify="left")
    table.add_column("method", no_wrap=True)
    for name in ("scalars up", "down", "paper up", "paper down", "bytes up", "down"):
        table.add_column(name, justify="right")
    for cost in costs:
        table.add_row(cost.method, *_cells(cost))
    console.print(table)
    console.print("* the paper counts otherwise than the messages", highlight=False)


def _cells(cost: MethodCost) -> list[str]:
    counted = [f"{number:g}" for number in cost.scalars]
    paper = ["-", "-"]
    if cost.paper is not None:
        paper = [
            f"{number:g}{'' if number == real else ' *'}"
            for number, real in zip(cost.paper, cost.scalars, strict=True)
        ]
    return counted + paper + [f"{number:.0f}" for number in cost.num_bytes]
