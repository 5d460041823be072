"""The paper's communication table, and what the messages really hold."""

import json
from pathlib import Path

import pytest

from guidefbo.methods.registry import all_methods
from guidefbo.simulation.simulate import simulate

METHODS = {method.name: method for method in all_methods()}
NOTHING = {"up": 0, "down": 0}
TABLE = Path(__file__).parents[2] / "src" / "guidefbo" / "reports" / "paper.json"


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_paper_accounting_is_the_papers_table(method):
    table = json.loads(TABLE.read_text())["communication_scalars_d10"]
    s = method.strategy
    counted = method.paper_scalars({}, 10)
    if s.paper_column is None:
        assert counted is None
        return
    row = table.get(s.paper_column, NOTHING)
    assert counted["up_per_agent_round"] == row["up"]
    assert counted["down_per_agent_round"] == row.get("down", row.get("down_max"))


def test_every_strategy_of_the_papers_table_is_counted():
    table = json.loads(TABLE.read_text())["communication_scalars_d10"]
    columns = {method.strategy.paper_column for method in METHODS.values()}
    assert table.keys() <= columns


def test_a_run_says_what_its_record_counts():
    size = {"dim": 3, "num_agents": 2, "num_initial": 4, "num_rounds": 1}
    settings = {"packet_size": 2, "num_paths": 20, "num_candidates": 40}
    trace = simulate("sphere", method="guide-ucb", settings=settings, **size)
    assert trace.scalars_paper == METHODS["guide-ucb"].paper_scalars(settings, 3)
    # 2d+2 up, packet_size (2d+1) down.
    assert trace.to_record()["scalars_paper"] == {
        "up_per_agent_round": 8,
        "down_per_agent_round": 14,
    }
