"""The paper's printed numbers, and which of our runs may stand beside them."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

from guidefbo.reports.contenders import Contender

METHODS = (
    "ts",
    "ucb",
    "nei",
    "fts",
    "fts-de",
    "fmtbo",
    "cgp-ts",
    "cgp-ucb",
    "cgp-nei",
    "guide-ts",
    "guide-ucb",
    "guide-nei",
)
"""The twelve compared methods, in the order of the paper's tables."""
PLAIN_BETA = 2.0
"""beta of the paper's plain UCB; its GUIDE-UCB and CGP-UCB used 4."""
BETA_REMARK = (
    "The paper's plain UCB ran at beta 2, its GUIDE-UCB and CGP-UCB at beta 4; "
    "ucb without a beta is at 4 here."
)


@cache
def paper_tables() -> dict[str, Any]:
    """Return the paper's tables as they are stored."""
    text = files("guidefbo.reports").joinpath("paper.json").read_text(encoding="utf-8")
    return json.loads(text)


def final_regret(level: Any, problem: str, method: str) -> float | None:
    """Return the paper's final mean simple regret, None where it has none."""
    return _look_up("final_regret", f"level{level}", problem, method)


def published_rank(level: Any, method: str) -> float | None:
    """Return the paper's average rank among its twelve methods."""
    return _look_up("average_rank", f"level{level}", method)


def ablation(level: Any, problem: str, variant: str) -> float | None:
    """Return the final regret of a variant; `average_rank` is a problem here."""
    return _look_up("ablation", f"level{level}", problem, variant)


def sensitivity(axis: str, value: float, problem: str) -> float | None:
    """Return the regret of GUIDE-UCB at Level 3 with one setting changed."""
    table = paper_tables()["sensitivity_level3_guide_ucb"].get(axis, {})
    for text, row in table.items():
        if float(text) == value:
            return row.get(problem)
    return None


def seconds(problem: str, method: str) -> float | None:
    """Return the paper's seconds of a run at Level 2."""
    return _look_up("runtime_seconds_level2", problem, method)


def scalars(strategy: str) -> tuple[float | None, float | None]:
    """Return the paper's scalars up and down per agent and round, d = 10."""
    if strategy == "independent":
        return 0.0, 0.0
    row = paper_tables()["communication_scalars_d10"].get(strategy, {})
    return row.get("up"), row.get("down", row.get("down_max"))


def similarity(problem: str, level: Any) -> float | None:
    """Return the paper's task similarity; `overall` is a problem here."""
    return _look_up("task_similarity", problem, f"level{level}")


def real_world(task: str, method: str) -> float | None:
    """Return the paper's final metric on a real task; `average_rank` is a task here."""
    return _look_up("real_world", task, method)


def column_of(who: Contender) -> str | None:
    """Return the paper's column that a method with its settings belongs to.

    The beta of plain UCB may be the paper's or ours; every other setting must be at
    its default.
    """
    given = dict(who.settings)
    if who.method == "ucb" and given.get("beta") == PLAIN_BETA:
        del given["beta"]
    column = None if who.note is None else who.note.paper
    return column if column in METHODS and not given else None


def _look_up(*path: str) -> float | None:
    value: Any = paper_tables()
    for name in path:
        if name not in value:
            return None
        value = value[name]
    return float(value)
