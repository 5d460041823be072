"""Tasks: final metrics, paired tests, and the sentence on each."""

import numpy as np
import pytest
from scipy.stats import ttest_rel
from tests.reports.studies import Folder, Tasks, finals_of

from guidefbo.experiments.results import read_study
from guidefbo.reports import report
from guidefbo.reports.frame import lay_out
from guidefbo.reports.sections.choice import write_sections
from guidefbo.reports.sections.realworld import realworld_section
from guidefbo.reports.table import Points, tables_of
from guidefbo.reports.tasks import find_tasks
from guidefbo.reports.verdicts import verdict

PAPERS = {"num_agents": 29, "num_initial": 30, "num_rounds": 50}


def task_of(study):
    (task,) = find_tasks(lay_out(study.results()))
    return task


def gains_of(gains):
    return {who.label: gain for who, gain in gains.items()}


def rows_of(table):
    return {
        (row[0].text, column): cell
        for row in table.rows
        for column, cell in zip(table.columns, row, strict=True)
    }


def test_pairs_are_seeds_where_the_sites_are_not_known():
    ours, plain = [0.9, 0.8, 0.85], [0.7, 0.75, 0.7]
    study = Tasks().add("a", "ucb", plain).add("a", "guide-ucb", ours)
    task = task_of(study)
    gain = gains_of(task.over_plain)["guide-ucb"]
    assert (task.unit, gain.difference.pairs, gain.over.label) == ("seeds", 3, "ucb")
    assert gain.difference.mean == pytest.approx(np.mean(ours) - np.mean(plain))
    assert gain.difference.p == pytest.approx(ttest_rel(ours, plain).pvalue)
    # One test: Holm leaves it as it is.
    assert gain.adjusted == gain.difference.p


def test_pairs_are_sites_where_there_are_enough():
    rng = np.random.default_rng(0)
    plain, ours = rng.normal(size=(2, 3, 8))
    study = Tasks().add("a", "ucb", plain.tolist()).add("a", "guide-ucb", ours.tolist())
    task = task_of(study)
    difference = gains_of(task.over_plain)["guide-ucb"].difference
    assert (task.unit, difference.pairs) == ("sites", 8)
    # A site counts once, with its mean over the seeds.
    expected = ttest_rel(ours.mean(axis=0), plain.mean(axis=0))
    assert difference.p == pytest.approx(expected.pvalue)
    few = Tasks().add("a", "ucb", plain[:, :7].tolist())
    few.add("a", "guide-ucb", ours[:, :7].tolist())
    assert task_of(few).unit == "seeds"


def test_values_of_sites_that_are_not_behind_the_curve_are_not_used():
    sites = [[1.0] * 8, [2.0] * 8]
    for used, unit in ((1.0, "sites"), (-1.0, "sites"), (3.0, "seeds")):
        study = Tasks()
        for method in ("ucb", "guide-ucb"):
            for row in sites:
                values = used * np.array(row)
                study.add("a", method, [row], site_finals=values)
        assert task_of(study).unit == unit


def test_a_gain_is_better_in_either_direction():
    for direction, sign in (("max", 1.0), ("min", -1.0)):
        metric = {"name": "m", "unit": "", "direction": direction}
        study = Tasks().add("a", "ucb", [1.0, 2.0], metric=metric)
        study.add("a", "guide-ucb", [3.0, 4.5], metric=metric)
        study.add("a", "optuna-gp", [0.0, 0.5], metric=metric)
        task = task_of(study)
        assert gains_of(task.over_plain)["guide-ucb"].difference.mean == sign * 2.25
        assert gains_of(task.over_rival)["ucb"].difference.mean == sign * 1.25
        best = "guide-ucb" if direction == "max" else "ucb"
        assert task.best.label == best


def test_the_better_of_the_rivals_is_the_one_to_beat():
    study = Tasks().add("a", "ucb", [2.0, 2.1]).add("a", "optuna-tpe", [1.0, 1.1])
    study.add("a", "optuna-gp", [3.0, 3.1]).add("a", "cgp-ucb", [0.0, 0.2])
    task = task_of(study)
    assert task.rival.label == "optuna-gp"
    assert set(gains_of(task.over_rival)) == {"ucb", "cgp-ucb"}
    assert set(gains_of(task.over_plain)) == {"cgp-ucb"}
    # A rival that lacks a seed is none.
    study = Tasks().add("a", "ucb", [2.0, 2.1]).add("a", "optuna-gp", [3.0, None])
    assert task_of(study).rival is None


def test_p_values_are_adjusted_for_each_question():
    study = Tasks()
    values = {"ucb": [1.0, 2.0, 3.0], "optuna-gp": [0.0, 0.1, 0.3]}
    values |= {"guide-ucb": [2.0, 3.1, 4.0], "cgp-ucb": [1.1, 2.4, 2.9]}
    for method, finals in values.items():
        study.add("a", method, finals)
    task = task_of(study)
    guide, cgp = (gains_of(task.over_plain)[name] for name in ("guide-ucb", "cgp-ucb"))
    assert guide.difference.p < cgp.difference.p
    assert guide.adjusted == pytest.approx(2.0 * guide.difference.p)
    assert cgp.adjusted == pytest.approx(cgp.difference.p)
    assert len(task.over_rival) == 3


@pytest.fixture
def landmine():
    rng = np.random.default_rng(1)
    base = 0.8 + 0.02 * rng.standard_normal(29)
    study = Tasks(sections=["realworld"])
    gains = {"ucb": 0.0, "guide-ucb": 0.002, "cgp-ucb": -0.002, "optuna-gp": 0.001}
    for method, gain in gains.items():
        seeds = [(base + gain + 2e-4 * rng.standard_normal(29)).tolist() for _ in "abc"]
        extra = {"held_out": np.full(29, 0.7), "source": "Fields."}
        study.add("landmine", method, seeds, start=0.5, size=PAPERS, **extra)
    return study


def test_a_task_has_a_table_with_the_papers_beside(landmine):
    section = realworld_section(lay_out(landmine.results()))
    overall, table = tables_of(section)
    assert table.columns == (
        "method",
        "mean AUC",
        "seeds",
        "paper",
        "held-out",
        "gain over its lone rule",
        "gain over optuna-gp",
    )
    cells = rows_of(table)
    assert next(iter(cells))[0] == "guide-ucb"
    assert cells["guide-ucb", "paper"].text == "0.806604"
    assert cells["optuna-gp", "paper"].value is None
    assert cells["ucb", "held-out"].value == pytest.approx(0.7)
    gain = cells["guide-ucb", "gain over its lone rule"]
    assert gain.mark == "best"
    assert gain.value == pytest.approx(0.002, abs=1e-4)
    assert gain.under.startswith("over ucb\np ")
    assert dict(gain.data)["pairs"] == 29
    assert cells["cgp-ucb", "gain over its lone rule"].mark == ""
    notes = " ".join(table.notes)
    assert "Pairs are sites (29)" in notes
    assert "Paired t-tests, two-sided; Holm" in notes
    ranks = rows_of(overall)
    assert ranks["guide-ucb", "average rank"].value == 1.0
    assert ranks["guide-ucb", "average rank"].under == "paper 2.67"
    about = [b for b in section.blocks if isinstance(b, str)][-1]
    assert about.endswith("29 sites, 30 + 50 evaluations a site. Fields.")
    section.blocks[0].draw()


def test_another_budget_is_not_the_papers(landmine):
    study = Tasks()
    study.add("landmine", "ucb", [0.8], size=PAPERS | {"num_rounds": 10})
    _, table = tables_of(realworld_section(lay_out(study.results())))
    assert table.columns == ("method", "mean AUC", "seeds")


def test_what_the_papers_table_lacks_is_not_shown():
    study = Tasks().add("warfarin", "ucb", [0.5]).add("fedhpo", "ucb", [0.8])
    section = realworld_section(lay_out(study.results()))
    overall, warfarin, fedhpo = tables_of(section)
    assert rows_of(overall)["ucb", "average rank"].under == "paper 6.33"
    other = realworld_section(lay_out(Tasks().add("suzuki", "ucb", [9.0]).results()))
    assert rows_of(tables_of(other)[0])["ucb", "average rank"].under == ""
    assert "paper" not in warfarin.columns
    assert fedhpo.columns[-1] == "paper"
    assert any("official surrogates" in note for note in fedhpo.notes)


def test_regret_left_is_a_share_of_that_of_the_initial_design():
    regret = np.array([4.0, 2.0, 1.0])
    study = Tasks().add("a", "ucb", [0.5, 0.6], curve_regret=regret)
    study.add("a", "nei", [0.5])
    cells = rows_of(tables_of(realworld_section(lay_out(study.results())))[1])
    assert cells["ucb", "regret left"].value == 0.25
    assert cells["nei", "regret left"].value is None
    # Where the curve is a regret there is no other.
    study = Tasks().add("a", "ucb", [1.0], start=8.0, metric={})
    cells = rows_of(tables_of(realworld_section(lay_out(study.results())))[1])
    assert cells["ucb", "regret left"].value == 0.125
    assert cells["ucb", "mean simple regret"].value == 1.0


def test_what_is_missing_is_shown_as_missing():
    study = Tasks().add("a", "ucb", [1.0, None]).add("a", "nei", [2.0, 2.5])
    study.add("a", "guide-ucb", [None, None]).add("b", "nei", [None, None])
    section = realworld_section(lay_out(study.results()))
    overall, table = tables_of(section)
    cells = rows_of(overall)
    assert cells["ucb", "a (mean AUC)"].text == "1.000 (1 of 2 seeds)"
    assert "average rank" not in overall.columns
    assert {row[0].text for row in table.rows} == {"ucb", "nei"}
    assert len(tables_of(section)) == 2


# The sentence


def told(plain, ours, rival=None, other=None):
    study = Tasks().add("t", "ucb", plain).add("t", "guide-ucb", ours)
    if rival is not None:
        study.add("t", "optuna-gp", rival)
    if other is not None:
        study.add("t", "cgp-ucb", other)
    return verdict(task_of(study))


PLAIN = [0.50, 0.51, 0.52, 0.53, 0.54]
SLIGHTLY = [0.51, 0.50, 0.53, 0.52, 0.55]
MUCH = [0.61, 0.62, 0.64, 0.63, 0.65]
WORSE = [0.41, 0.42, 0.44, 0.43, 0.45]


def test_federation_that_helps_is_said_to():
    text = told(PLAIN, MUCH, rival=PLAIN, other=SLIGHTLY)
    assert text.startswith("t: federation helps: guide-ucb is ahead of ucb (+0.1")
    assert "more than the noise over 5 seeds" in text
    assert "1 of 2 federated methods is not told apart" in text
    assert "would not have been better off with another tool: guide-ucb" in text


def test_federation_that_hurts_is_said_to():
    text = told(PLAIN, WORSE, rival=MUCH)
    assert text.startswith("t: federation hurts: guide-ucb is behind ucb (-0.09")
    assert "A site would have been better off with optuna-gp: ucb, the best of" in text
    assert "one that works alone" in text
    both = told(PLAIN, MUCH, other=WORSE)
    assert "federation helps: guide-ucb" in both
    assert "it hurts too: cgp-ucb" in both


def test_a_difference_within_the_noise_is_none():
    text = told(PLAIN, SLIGHTLY, rival=SLIGHTLY)
    assert "no gain of federation is larger than the noise" in text
    assert "over 5 seeds. The largest gain: guide-ucb is ahead of ucb (+0.002" in text
    assert "is not settled: guide-ucb, the best of ours, is" in text
    behind = told(SLIGHTLY, PLAIN)
    assert "none is even ahead of it" in behind


def test_what_did_not_run_is_not_judged():
    alone = verdict(task_of(Tasks().add("t", "ucb", PLAIN)))
    assert "whether federation helps is not known" in alone
    assert "No other tool ran" in alone
    one = told([0.5], [0.6], rival=[0.4])
    assert "no test of a single pair" in one
    assert "not settled" in one


def test_every_task_is_judged(landmine):
    landmine.add("b", "ucb", PLAIN).add("b", "guide-ucb", WORSE)
    section = realworld_section(lay_out(landmine.results()))
    (points,) = [block for block in section.blocks if isinstance(block, Points)]
    assert [item.partition(":")[0] for item in points.items] == ["landmine", "b"]


def test_functions_are_left_to_the_other_sections(tmp_path):
    folder = Folder(tmp_path / "s").add_finals(finals_of(["ucb", "guide-ucb"]))
    assert realworld_section(lay_out(read_study(folder.save()))) is None
    sections = write_sections(lay_out(Tasks().add("a", "ucb", [1.0]).results()))
    assert [s.name for s in sections] == [
        "realworld",
        "curves",
        "communication",
        "runtime",
        "bookkeeping",
    ]


def test_a_report_of_tasks_is_written(landmine, tmp_path, monkeypatch):
    monkeypatch.setattr(report, "read_study", lambda path: landmine.results())
    files = report.write_report([tmp_path], tmp_path / "out")
    names = {path.name for path in files}
    assert {"realworld.png", "realworld.csv", "realworld-landmine.tex"} <= names
    assert "federation helps" in (tmp_path / "out" / "report.html").read_text()


def test_versions_of_a_problem_are_not_compared():
    """A file that was edited between the runs of two methods: another task."""
    study = Tasks().add("a", "ucb", [0.1, 0.2, 0.1], made_by={"mine.py": "old"})
    study.add("a", "guide-ucb", [5.1, 5.2, 5.1], made_by={"mine.py": "new"})
    task = task_of(study)
    assert (task.mixed, task.over_plain) == (("mine.py",), {})
    assert "not judged" in verdict(task)
    assert "mine.py" in verdict(task)


def test_a_plugin_of_one_method_mixes_nothing():
    study = Tasks().add("a", "ucb", [0.1, 0.2, 0.1], made_by={"guidefbo": "1"})
    both = {"guidefbo": "1", "optuna_rivals.py": "x"}
    task = task_of(study.add("a", "optuna-gp", [0.3, 0.3, 0.2], made_by=both))
    assert task.mixed == ()
    assert task.over_rival
