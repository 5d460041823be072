"""What a report opens on, what it warns of, and what its values are."""

import math

import numpy as np
import pytest
from tests.reports.studies import Folder, Tasks, finals_of, run, spec

from guidefbo.experiments.results import read_study
from guidefbo.reports.frame import lay_out
from guidefbo.reports.report import compose
from guidefbo.reports.sections.choice import write_sections
from guidefbo.reports.sections.curves import curves_section
from guidefbo.reports.sections.matched import matched_section
from guidefbo.reports.sections.ranks import rank, ranks_section
from guidefbo.reports.sections.regret import regret_section
from guidefbo.reports.sections.results import results_section
from guidefbo.reports.table import Box, Figure, Points, Prose, Table, tables_of

TWO = ("ucb", "guide-ucb")


def frame_of(folder):
    return lay_out(read_study(folder.save()))


def cells_of(table):
    return {
        (row[0].text, column): cell
        for row in (*table.rows, *table.footer)
        for column, cell in zip(table.columns, row, strict=True)
    }


def texts_of(sections):
    """Return every sentence of sections, those under tables and figures too."""
    found = []
    for section in sections:
        for block in section.blocks:
            found += [block] if isinstance(block, str) else getattr(block, "notes", ())
    return found


def boxes_of(sections):
    return [b for section in sections for b in section.blocks if isinstance(b, Box)]


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        (["regret", "curves"], ["results", "regret", "curves", "bookkeeping"]),
        (["ranks"], ["results", "ranks", "bookkeeping"]),
        (["transfer", "regret"], ["transfer", "regret", "bookkeeping"]),
        (["runtime", "regret"], ["runtime", "regret", "bookkeeping"]),
    ],
)
def test_a_report_opens_on_results_in_the_order_of_the_study(tmp_path, asked, names):
    folder = Folder(tmp_path / "s", sections=asked, text="Why?")
    folder.add_finals(finals_of(["ucb", "placebo-ucb", "guide-ucb"]))
    sections = write_sections(frame_of(folder))
    assert [section.name for section in sections] == names
    opening = sections[0].blocks
    assert opening[0] == Prose(text="Why?")
    kinds = [type(block) for block in opening if isinstance(block, Figure | Table)]
    assert kinds[:2] == [Figure, Table]
    assert not any(isinstance(b, Prose) for s in sections[1:] for b in s.blocks)


def test_what_is_not_there_is_said_above_the_results(tmp_path):
    folder = Folder(tmp_path / "s")
    folder.add_finals(finals_of(TWO)).add(spec(seed=9)).add(spec(seed=8), error="no")
    opening = write_sections(frame_of(folder))[0].blocks
    assert opening[0].startswith("2 of the 20 runs are not there yet, or failed")
    whole = Folder(tmp_path / "w").add_finals(finals_of(TWO))
    assert not isinstance(write_sections(frame_of(whole))[0].blocks[0], str)


def test_results_are_ratios_to_the_plain_rule(tmp_path):
    folder = Folder(tmp_path / "s")
    folder.add_finals(
        {
            ("guide-ucb", "ackley"): [1.0, 1.0],
            ("guide-ucb", "levy"): [4.0, 4.0],
            ("ucb", "ackley"): [4.0, 4.0],
            ("ucb", "levy"): [8.0, 8.0],
            ("nei", "ackley"): [8.0, None],
            ("nei", "levy"): [16.0, 16.0],
        },
        dim=4,
    )
    section = results_section(frame_of(folder))
    points, figure, table = section.blocks
    assert [row[0].text for row in table.rows] == ["guide-ucb", "ucb", "nei"]
    cell = table.rows[0][1]
    # Ratios 1/4 and 1/2: their geometric mean, and the error of their logarithms.
    assert cell.value == pytest.approx(math.sqrt(1 / 8))
    assert dict(cell.data)["log error"] == pytest.approx(math.log(2) / 2)
    assert cell.mark == "best"
    # nei lacks a run, so that one function counts for ranks.
    assert cell.under == "± 41%, rank 1.00, lower on 2 of 2"
    assert table.rows[2][1].value == pytest.approx(2.0)
    assert points.items == (
        "Level 2, d = 4: guide-ucb has the lowest regret, ×0.354 that of ucb on "
        "average, lower on 2 of 2 functions: not told apart from it, p 0.50 (2 "
        "functions); cannot be below 0.50.",
    )
    figure.draw()


def test_results_stand_beside_the_papers(tmp_path):
    folder = Folder(tmp_path / "s").add_finals(finals_of(TWO, ["ackley", "sphere"]))
    _, figure, table = results_section(frame_of(folder)).blocks
    cell = cells_of(table)["guide-ucb", "Level 2"]
    papers = math.sqrt(8.4785 / 19.435 * 2.2689 / 14.2443)
    assert dict(cell.data)["paper ratio"] == pytest.approx(papers)
    assert cell.under.splitlines()[-1] == f"paper ×{papers:.3f}"
    assert "Squares: the same from the paper's tables." in figure.notes


def test_a_significant_leader_is_named_with_the_next(tmp_path):
    problems = [f"p{n}" for n in range(8)]
    finals = {("ucb", p): [8.0] for p in problems}
    finals |= {("guide-ucb", p): [2.0 + n] for n, p in enumerate(problems)}
    finals |= {("cgp-ucb", p): [1.0] for p in problems}
    folder = Folder(tmp_path / "s").add_finals(finals, dim=3)
    points = results_section(frame_of(folder)).blocks[0]
    (headline,) = points.items
    assert "cgp-ucb has the lowest regret, ×0.125" in headline
    mean = math.factorial(9) ** (1.0 / 8.0) / 8.0
    assert headline.endswith(f"next is guide-ucb, ×{mean:.3f}.")


def test_nothing_to_compare_has_no_results(tmp_path):
    folder = Folder(tmp_path / "s").add_finals({("ucb", "ackley"): [1.0]})
    assert results_section(frame_of(folder)) is None
    names = [s.name for s in write_sections(frame_of(folder))]
    assert names[0] == "regret"
    assert names[-1] == "bookkeeping"


def test_gains_on_centred_problems_without_a_control_get_a_box(tmp_path):
    folder = Folder(tmp_path / "s").add_finals(finals_of(TWO))
    sections = write_sections(frame_of(folder))
    (box,) = boxes_of(sections[:1])
    assert "on ackley and sphere" in box.texts[0]
    assert "not be read as transfer" in box.texts[1]
    assert not boxes_of(sections[1:])


@pytest.mark.parametrize(
    "why", ["a control", "off the centre", "nothing federated", "only its traffic"]
)
def test_no_box_where_there_is_nothing_to_warn_of(tmp_path, why):
    sections = ["communication"] if why == "only its traffic" else []
    folder = Folder(tmp_path / "s", sections=sections)
    methods = ("ucb", "nei") if why == "nothing federated" else TWO
    folder.add_finals(finals_of(methods))
    if why == "a control":
        folder.add_finals(finals_of(["placebo-ucb"]))
    if why == "off the centre":
        folder.add_finals(finals_of(TWO), common_shift=0.3)
    assert not boxes_of(write_sections(frame_of(folder)))


def test_a_control_that_did_not_run_does_not_count(tmp_path):
    folder = Folder(tmp_path / "s").add_finals(finals_of(TWO))
    folder.add_finals({("placebo-ucb", "ackley"): [None]})
    assert boxes_of(write_sections(frame_of(folder)))


def test_another_study_of_the_report_may_stand_beside(tmp_path):
    centred = Folder(tmp_path / "a", name="a").add_finals(finals_of(TWO))
    moved = Folder(tmp_path / "b", name="b").add_finals(
        finals_of(TWO), common_shift=0.3
    )
    one, other = read_study(centred.save()), read_study(moved.save())
    assert boxes_of(compose([one]))
    assert not boxes_of(compose([one, other]))


@pytest.mark.parametrize("fields", [{}, {"dim": 4}], ids=["paper's", "own"])
def test_no_line_is_announced_that_is_not_there(tmp_path, fields):
    folder = Folder(tmp_path / "s")
    folder.add_finals(finals_of(["ucb", "placebo-ucb", "guide-ucb"]), **fields)
    for variant in ("full", "no-merging"):
        row = spec("powell", "guide-ucb", settings={"v": variant}, **fields)
        folder.add(row, run(1.0), variant=variant)
    for value in (1, 3, 5):
        row = spec("levy", "nei", settings={"num_paths": value}, **fields)
        folder.add(row, run(2.0), group="g")
    sections = write_sections(frame_of(folder))
    assert {"ablation", "sensitivity", "matched"} <= {s.name for s in sections}
    told = [text for text in texts_of(sections) if "paper" in text]
    # Without the paper's conditions none of its numbers is shown or spoken of, but
    # for its way to count what is sent.
    assert bool([text for text in told if "counting" not in text]) is (not fields)


# Two references


def in_box(tmp_path, shift=5.0, **fields):
    """Return a Level 3 frame whose regrets in the box are lower by a shift."""
    folder = Folder(tmp_path / "s")
    finals = {("ucb", "ackley"): [20.0, 20.0], ("guide-ucb", "ackley"): [15.0, 15.0]}
    results = read_study(folder.add_finals(finals, level=3, **fields).save())
    for outcome in results.outcomes.values():
        object.__setattr__(outcome, "curve_inbox", outcome.curve - shift)
    return lay_out(results)


def test_regrets_are_against_the_box_unless_beside_the_papers(tmp_path):
    frame = in_box(tmp_path, common_shift=0.3)
    table = tables_of(regret_section(frame))[0]
    assert cells_of(table)["ackley", "ucb"].value == 15.0
    assert any("best point inside the box" in note for note in table.notes)
    ratio = tables_of(matched_section(frame))[0].rows[0][3]
    assert ratio.value == pytest.approx(10.0 / 15.0)
    assert ratio.under == ""
    (figure,) = curves_section(frame).blocks[1:]
    assert any("best point inside the box" in note for note in figure.notes)


def test_beside_the_papers_numbers_its_reference_is_used(tmp_path):
    frame = in_box(tmp_path)
    table = tables_of(regret_section(frame))[0]
    assert cells_of(table)["ackley", "ucb"].value == 20.0
    assert any("as in the paper's tables" in note for note in table.notes)
    ratio = tables_of(matched_section(frame))[0].rows[0][3]
    assert ratio.value == pytest.approx(10.0 / 15.0)
    assert ratio.under == "×0.750 by the paper's reference"


def test_one_run_without_the_second_reference_keeps_all_to_the_first(tmp_path):
    frame = in_box(tmp_path, common_shift=0.3)
    outcome = next(iter(frame.results.outcomes.values()))
    object.__setattr__(outcome, "curve_inbox", None)
    frame = lay_out(frame.results)
    assert not frame.in_box
    assert cells_of(tables_of(regret_section(frame))[0])["ackley", "ucb"].value == 20.0


def test_results_of_other_code_are_marked(tmp_path):
    folder = Folder(tmp_path / "s").add_finals(finals_of(TWO))
    results = read_study(folder.save())
    object.__setattr__(results, "other_code", {"row0": "guidefbo 0.0.9"})
    frame = lay_out(results)
    sections = {section.name: section for section in write_sections(frame)}
    table = tables_of(sections["regret"])[0]
    cells = cells_of(table)
    assert cells["ackley", "ucb"].text.endswith(" †")
    assert not cells["levy", "ucb"].text.endswith("†")
    assert any(note.startswith("†") for note in table.notes)
    assert (
        cells_of(tables_of(sections["results"])[0])["ucb", "Level 2"].text == "1.00 †"
    )
    told = texts_of([sections["bookkeeping"]])
    assert any(text.startswith("1 of the results were computed") for text in told)
    assert any("other code" in n for n in sections["curves"].blocks[-1].notes)


# Values that are no regret


def tasks(direction="max", **more):
    metric = {"name": "yield", "unit": "%", "direction": direction}
    return (
        Tasks(**more)
        .add("suzuki", "ucb", [70.0, 72.0], metric=metric)
        .add("suzuki", "guide-ucb", [80.0, 84.0], metric=metric)
        .add("landmine", "ucb", [0.8, 0.8])
        .add("landmine", "guide-ucb", [0.7, 0.7])
    )


def test_a_metric_has_a_table_ranks_and_curves_of_its_own():
    frame = lay_out(tasks(sections=["regret", "ranks", "curves"]).results())
    sections = {section.name: section for section in write_sections(frame)}
    assert list(sections) == ["realworld", "regret", "ranks", "curves", "bookkeeping"]
    table = tables_of(sections["regret"])[0]
    assert (sections["regret"].title, table.columns[0]) == ("Final values", "task")
    cells = cells_of(table)
    assert cells["suzuki", "task"].under == "mean yield [%], higher is better"
    assert cells["suzuki", "guide-ucb"].text == "82.00 ± 2.00"
    assert cells["suzuki", "guide-ucb"].mark == "best"
    assert cells["landmine", "ucb"].mark == "best"
    (view,) = frame.views
    assert set(rank(view).ours.values()) == {1.5}
    labels = {panel.get_ylabel() for panel in sections["curves"].blocks[-1].draw().axes}
    assert labels == {"mean yield [%]", "mean AUC"}


def test_of_a_metric_that_is_minimised_the_lowest_is_best():
    frame = lay_out(tasks("min").results())
    cells = cells_of(tables_of(regret_section(frame))[0])
    assert cells["suzuki", "ucb"].mark == "best"
    (view,) = frame.views
    ranks = {who.label: value for who, value in rank(view).ours.items()}
    assert ranks == {"ucb": 1.0, "guide-ucb": 2.0}
    assert ranks_section(frame) is not None
    assert matched_section(frame).blocks[1].rows[0][2].text == "-"


def test_tasks_of_different_sizes_share_a_table():
    study = Tasks()
    study.add("a", "ucb", [1.0], size={"num_agents": 3, "num_rounds": 5})
    study.add("b", "ucb", [1.0], size={"num_agents": 7, "num_rounds": 5})
    frame = lay_out(study.results())
    (conditions,) = frame.conditions
    assert conditions.label == "tasks as given"
    assert frame.sizes[conditions, "b"].num_agents == 7
    study.add("b", "nei", [1.0], size={"num_agents": 7, "num_rounds": 9})
    sizes = [c.num_rounds for c in lay_out(study.results()).conditions]
    assert sizes == [5, 9]


def test_what_was_measured_otherwise_does_not_stand_beside():
    study = Tasks().add("a", "ucb", [1.0, 2.0])
    study.add("a", "nei", [3.0], metric={"name": "loss", "direction": "min"})
    frame = lay_out(study.results())
    (view,) = frame.views
    ucb, nei = view.contenders
    assert view.finals("a", ucb) == {0: 1.0, 1: 2.0}
    assert view.finals("a", nei) == {}
    assert not view.is_complete("a", nei)
    assert view.left_out("a") == {nei: [0]}


def test_runs_that_are_left_out_are_named():
    """The goal of the problem changed: what the new file measures counts."""
    study = Tasks(sections=["regret", "curves"]).add("a", "ucb", [1.0, 2.0])
    loss = {"name": "loss", "direction": "min"}
    study.add("a", "nei", [3.0], metric=loss).add("a", "guide-nei", [4.0], metric=loss)
    results = study.results()
    former = dict.fromkeys(("row0", "row1"), "tasks.py 0123")
    object.__setattr__(results, "other_code", former)
    frame = lay_out(results)
    (view,) = frame.views
    assert view.measure("a").name == "loss"
    assert [list(view.finals("a", who)) for who in view.contenders] == [[], [0], [0]]
    said = (
        "Left out on a, since their values are not mean loss, lower is better: ucb "
        "(seeds 0, 1). The file of the problem has changed; make them again with "
        "--redo."
    )
    sections = {section.name: section for section in write_sections(frame)}
    for table in tables_of(sections["regret"]) + tables_of(sections["realworld"]):
        assert said in table.notes
    assert said in sections["curves"].blocks[-1].notes


def test_a_stated_optimum_that_is_beaten_is_told():
    study = Tasks().add("a", "ucb", [1.0], curve_regret=np.array([2.0, 1.0, -0.5]))
    study.add("b", "ucb", [1.0], curve_regret=np.array([2.0, 1.0, -1e-9]))
    (table,) = tables_of(regret_section(lay_out(study.results())))
    (note,) = [note for note in table.notes if "below zero" in note]
    assert note.startswith("On a a run was better than the optimum")


def test_the_view_of_a_metric_leaves_the_first_rounds_out():
    curve = np.concatenate([[0.0, 10.0], np.linspace(90.0, 92.0, 9)])
    study = Tasks().add("a", "ucb", [92.0], curve=curve)
    (axes,) = curves_section(lay_out(study.results())).blocks[-1].draw().axes
    low, high = axes.get_ylim()
    assert 89.0 < low < 90.0
    assert 92.0 < high < 93.0


def test_points_are_sentences(tmp_path):
    folder = Folder(tmp_path / "s").add_finals(finals_of(TWO))
    points = results_section(frame_of(folder)).blocks[0]
    assert isinstance(points, Points)
    assert all(item.endswith(".") for item in points.items)
