"""The paper's communication table, and what the messages really hold."""

import json
from pathlib import Path

import pytest

from guidefbo.methods.accounting import paper_scalars
from guidefbo.methods.catalog import METHODS
from guidefbo.methods.settings import Settings

NOTHING = {"up": 0, "down": 0}
OURS = {"consensus": {"up": 22, "down": 21}}
"""Not in the paper: its own count, 2d+2 and 2d+1 for d = 10."""
TABLE = Path(__file__).parents[2] / "src" / "guidefbo" / "reports" / "paper.json"


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_paper_accounting_is_the_papers_table(method):
    table = json.loads(TABLE.read_text())["communication_scalars_d10"]
    row = OURS.get(method.strategy) or table.get(method.strategy, NOTHING)
    counted = paper_scalars(method, Settings(), 10)
    assert counted["up_per_agent_round"] == row["up"]
    assert counted["down_per_agent_round"] == row.get("down", row.get("down_max"))
