"""Which share of what sharing everything brings a method brings."""

import numpy as np
import pytest
from tests.reports.studies import Folder, Tasks

from guidefbo.experiments.results import read_study
from guidefbo.reports.formats import MISSING
from guidefbo.reports.frame import lay_out
from guidefbo.reports.sections.matched import matched_section
from guidefbo.reports.sections.realworld import realworld_section
from guidefbo.reports.shares import COLUMN
from guidefbo.reports.table import tables_of
from guidefbo.reports.tasks import find_tasks
from guidefbo.reports.verdicts import verdict

ALONE = [0.60, 0.62, 0.58, 0.61]
OURS = [0.70, 0.71, 0.69, 0.70]
SHARED = [0.80, 0.83, 0.79, 0.81]
ERROR = {"name": "error", "unit": "", "direction": "min"}


def study(alone=ALONE, ours=OURS, shared=SHARED, **more):
    tasks = Tasks(sections=("realworld",))
    tasks.add("a", "ucb", alone, **more).add("a", "guide-ucb", ours, **more)
    return tasks.add("a", "shared-data-ucb", shared, **more)


def task_of(study):
    (task,) = find_tasks(lay_out(study.results()))
    return task


def share_in(study):
    return {who.label: s for who, s in task_of(study).shares.items()}["guide-ucb"]


def table_of(study):
    table = tables_of(realworld_section(lay_out(study.results())))[-1]
    cells = {
        row[0].text: dict(zip(table.columns, row, strict=True)) for row in table.rows
    }
    return cells, " ".join(table.notes)


def test_share_is_the_ratio_of_two_gains():
    share = share_in(study())
    gain, most = np.subtract(OURS, ALONE), np.subtract(SHARED, ALONE)
    ratio = gain.mean() / most.mean()
    assert share.ratio == pytest.approx(ratio)
    rest = gain - ratio * most
    error = rest.std(ddof=1) / np.sqrt(4) / most.mean()
    assert share.error == pytest.approx(error)
    assert (share.plain.label, share.ceiling.label) == ("ucb", "shared-data-ucb")


def test_direction_of_the_metric_does_not_matter():
    up = share_in(study())
    down = share_in(
        study(*(list(np.negative(v)) for v in (ALONE, OURS, SHARED)), metric=ERROR)
    )
    assert down.ratio == pytest.approx(up.ratio)
    assert down.error == pytest.approx(up.error)


def test_table_has_a_column_of_shares():
    cells, notes = table_of(study())
    cell = cells["guide-ucb"][COLUMN]
    assert cell.text.startswith("0.48 ± ")
    assert cell.under == "of shared-data-ucb"
    assert cells["ucb"][COLUMN].text == MISSING
    assert cells["shared-data-ucb"][COLUMN].text == MISSING
    assert "all raw data are shared" in notes
    assert "nothing beyond the noise" not in notes


def test_a_sentence_where_sharing_everything_brings_nothing():
    for shared in ([0.61, 0.60, 0.60, 0.60], [0.5, 0.51, 0.49, 0.50]):
        cells, notes = table_of(study(shared=shared))
        assert cells["guide-ucb"][COLUMN].text == MISSING
        assert "Even sharing everything brings nothing beyond the noise" in notes
        assert "shared-data-ucb: " in notes


def test_one_pair_is_no_evidence():
    share = share_in(study([0.6], [0.7], [0.8]))
    assert (share.ratio, share.error) == (None, None)


def test_no_column_without_the_control_with_the_same_rule():
    tasks = Tasks(sections=("realworld",)).add("a", "ucb", ALONE)
    tasks.add("a", "guide-ucb", OURS).add("a", "shared-data-nei", SHARED)
    assert task_of(tasks).shares == {}
    cells, notes = table_of(tasks)
    assert COLUMN not in cells["guide-ucb"]
    assert "raw data" not in notes


def test_what_shares_everything_is_not_judged_as_a_method():
    """It is neither a federated method that helps nor the best of ours."""
    task = task_of(study())
    assert {who.label for who in task.over_plain} == {"guide-ucb"}
    assert task.best.label == "guide-ucb"
    assert "shared-data" not in verdict(task)


def folder(path, shared):
    """Three functions, two seeds; shared gives the factor on the lone regret."""
    made = Folder(path / "s")
    for p, problem in enumerate(("ackley", "levy", "sphere")):
        alone = [10.0 + p, 12.0 + p]
        made.add_finals({("ucb", problem): alone})
        ours = [0.5 * r * (1.0 + 0.01 * p) for r in alone]
        made.add_finals({("guide-ucb", problem): ours})
        made.add_finals({("shared-data-ucb", problem): [shared[p] * r for r in alone]})
    return lay_out(read_study(made.save()))


def summary_of(frame):
    table = tables_of(matched_section(frame))[0]
    cells = {
        row[1].text: dict(zip(table.columns, row, strict=True)) for row in table.rows
    }
    return cells, " ".join(table.notes)


def test_on_functions_shares_are_of_logarithms(tmp_path):
    cells, notes = summary_of(folder(tmp_path, (0.25, 0.25, 0.26)))
    cell = cells["guide-ucb / ucb"][COLUMN]
    ours = -np.log(0.5 * np.array([1.0, 1.01, 1.02])).mean()
    most = -np.log([0.25, 0.25, 0.26]).mean()
    assert cell.value == pytest.approx(ours / most)
    assert cells["shared-data-ucb / ucb"][COLUMN].text == MISSING
    assert "in logarithms of the regret" in notes


def test_on_functions_nothing_gained_is_told_too(tmp_path):
    cells, notes = summary_of(folder(tmp_path, (0.9, 1.1, 1.0)))
    assert cells["guide-ucb / ucb"][COLUMN].text == MISSING
    assert "Even sharing everything brings nothing" in notes
