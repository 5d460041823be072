import math
import shlex

import pytest
from tests.reports.studies import Folder, finals_of, run, spec

from guidefbo.experiments.plan import plan_rows
from guidefbo.experiments.results import pack_study, read_study
from guidefbo.experiments.store import Store
from guidefbo.experiments.study import load_study
from guidefbo.experiments.study_json import Call
from guidefbo.reports.again import commands, introduction
from guidefbo.reports.frame import lay_out
from guidefbo.reports.sections.ablation import ablation_section
from guidefbo.reports.sections.bookkeeping import bookkeeping_section
from guidefbo.reports.sections.choice import write_sections
from guidefbo.reports.sections.communication import communication_section
from guidefbo.reports.sections.curves import curves_section, mean_curve
from guidefbo.reports.sections.matched import matched_section
from guidefbo.reports.sections.ranks import rank, ranks_section
from guidefbo.reports.sections.regret import regret_section
from guidefbo.reports.sections.runtime import runtime_section
from guidefbo.reports.sections.sensitivity import sensitivity_section
from guidefbo.reports.sections.similarity import similarity_section
from guidefbo.reports.sections.transfer import find_transfers, transfer_section
from guidefbo.reports.table import Points, tables_of


def frame_of(folder):
    return lay_out(read_study(folder.save()))


def cells_of(section, place=0):
    """Return the cells of a section's table by row and column."""
    table = tables_of(section)[place]
    return {
        (row[0].text, column): cell
        for row in (*table.rows, *table.footer)
        for column, cell in zip(table.columns, row, strict=True)
    }


@pytest.fixture
def regrets(tmp_path):
    folder = Folder(tmp_path / "s")
    folder.add_finals(
        {
            ("ucb", "ackley"): [19.0, 20.0, 21.0],
            ("guide-ucb", "ackley"): [8.0, 9.0, 10.0],
            ("cgp-ucb", "ackley"): [1.0, None, None],
            ("fmtbo", "ackley"): [None, None, None],
            ("ucb", "sphere"): [4.0, 4.0, 4.0],
            ("guide-ucb", "sphere"): [4.0, 4.0, 4.0],
            ("cgp-ucb", "sphere"): [5.0, 5.0, 5.0],
            ("fmtbo", "sphere"): [6.0, 6.0, 6.0],
        }
    )
    return frame_of(folder)


def test_regret_beside_the_papers(regrets):
    cells = cells_of(regret_section(regrets))
    ucb = cells["ackley", "ucb"]
    # Standard deviation 1 over three seeds; the paper has 19.435 at Level 2.
    assert ucb.text == "20.00 ± 0.58"
    data = dict(ucb.data)
    assert data["error"] == pytest.approx(1.0 / math.sqrt(3.0))
    assert (data["seeds"], data["asked"]) == (3, 3)
    assert data["paper"] == 19.435
    assert data["ratio"] == pytest.approx(20.0 / 19.435)
    assert ucb.under == "paper 19.43, ×1.03"


def test_missing_is_shown_as_missing(regrets):
    cells = cells_of(regret_section(regrets))
    assert cells["ackley", "fmtbo"].text == "- (0 of 3 seeds)"
    assert cells["ackley", "fmtbo"].value is None
    assert dict(cells["ackley", "fmtbo"].data)["mean"] is None
    assert cells["ackley", "cgp-ucb"].text == "1.000 (1 of 3 seeds)"


def test_best_and_second_among_the_complete(regrets):
    cells = cells_of(regret_section(regrets))
    # The lowest of all has one seed of three and is not compared.
    assert cells["ackley", "cgp-ucb"].mark == ""
    assert cells["ackley", "guide-ucb"].mark == "best"
    assert cells["ackley", "ucb"].mark == "second"
    marks = [cells["sphere", k].mark for k in ("ucb", "guide-ucb", "cgp-ucb", "fmtbo")]
    assert marks == ["best", "best", "second", ""]


def test_no_paper_beside_other_conditions(tmp_path):
    folder = Folder(tmp_path / "s")
    folder.add_finals({("ucb", "ackley"): [1.0]}, common_shift=0.3)
    cell = cells_of(regret_section(frame_of(folder)))["ackley", "ucb"]
    assert cell.under == ""
    assert "paper" not in dict(cell.data)


def test_ranks_with_ties_over_complete_functions(regrets):
    (view,) = regrets.views
    ranking = rank(view)
    assert ranking.problems == ("sphere",)
    assert ranking.asked == 2
    ranks = {who.label: value for who, value in ranking.ours.items()}
    assert ranks == {"ucb": 1.5, "guide-ucb": 1.5, "cgp-ucb": 3.0, "fmtbo": 4.0}
    # The paper on Level 2 sphere: guide 2.27 < cgp 4.53 < fmtbo 9.07 < ucb 14.24.
    papers = {who.label: value for who, value in ranking.papers.items()}
    assert papers == {"ucb": 4.0, "guide-ucb": 1.0, "cgp-ucb": 2.0, "fmtbo": 3.0}
    notes = tables_of(ranks_section(regrets))[0].notes
    assert notes[0].startswith("Over 1 of 2 functions")


def test_ranks_leave_out_who_has_no_run_and_keep_the_control_apart(tmp_path):
    folder = Folder(tmp_path / "s")
    folder.add_finals(
        {
            ("ucb", "ackley"): [3.0],
            ("ucb", "levy"): [3.0],
            ("placebo-ucb", "ackley"): [1.0],
            ("placebo-ucb", "levy"): [1.0],
            ("guide-ucb", "ackley"): [2.0],
            ("guide-ucb", "levy"): [4.0],
            ("nei", "ackley"): [None],
            ("nei", "levy"): [None],
        }
    )
    frame = frame_of(folder)
    ranking = rank(frame.views[0])
    assert [who.label for who in ranking.absent] == ["nei"]
    cells = cells_of(ranks_section(frame))
    assert cells["placebo-ucb", "rank"].value == 1.0
    assert cells["placebo-ucb", "paper, same methods"].value is None
    assert cells["ucb", "rank"].value == 2.5
    assert cells["ucb", "rank among the paper's"].value == 1.5
    assert cells["ucb", "paper, same methods"].value == 2.0
    assert cells["ucb", "paper, published"].value == 6.17


def test_the_papers_ucb_is_the_one_with_its_beta(tmp_path):
    folder = Folder(tmp_path / "s")
    for beta, final in ((None, 5.0), (2.0, 6.0)):
        settings = {} if beta is None else {"beta": beta}
        folder.add(spec(settings=settings), run(final))
    folder.add(spec(method="guide-ucb"), run(1.0))
    frame = frame_of(folder)
    ranking = rank(frame.views[0])
    assert [who.label for who in ranking.papers] == ["ucb beta=2", "guide-ucb"]


def test_the_papers_methods_are_those_as_run(tmp_path):
    folder = Folder(tmp_path / "s")
    named = ("fts-as-run", "fts", "ts", "ts-grid", "cgp-ts")
    folder.add_finals({(method, "ackley"): [1.0] for method in named})
    frame = frame_of(folder)
    ranking = rank(frame.views[0])
    assert [w.label for w in ranking.papers] == ["fts-as-run", "ts-grid", "cgp-ts"]


def test_matched_at_the_same_beta(tmp_path):
    folder = Folder(tmp_path / "s")
    folder.add_finals(
        {
            ("ucb", "ackley"): [2.0, 2.0, 2.0],
            ("ucb", "levy"): [1.0, 1.0, 1.0],
            ("ucb", "sphere"): [1.0, 1.0, 1.0],
            ("guide-ucb", "ackley"): [1.0, 1.0, 1.0],
            ("guide-ucb", "levy"): [4.0, 4.0, 4.0],
            ("guide-ucb", "sphere"): [1.0, 1.0, 1.0],
        }
    )
    folder.add_finals({("ucb", "ackley"): [9.0] * 3}, settings={"beta": 2.0})
    section = matched_section(frame_of(folder))
    (row,) = tables_of(section)[0].rows
    _, pair, lower, ratio, test, papers_lower, papers_ratio = row
    assert pair.text == "guide-ucb / ucb"
    assert lower.text == "1 of 3"
    # Ratios 1/2, 4 and 1: their geometric mean is the cube root of 2.
    assert ratio.value == pytest.approx(2.0 ** (1.0 / 3.0))
    # Six pairs remain: three ties of log 2 below, three of log 4 above zero.
    assert dict(test.data)["pairs"] == 9
    assert papers_lower.text == "3 of 3"
    logs = [8.4785 / 19.435, 3.2816 / 11.0529, 2.2689 / 14.2443]
    assert papers_ratio.value == pytest.approx(math.prod(logs) ** (1.0 / 3.0))
    by_function = cells_of(section, 1)
    ackley = by_function["ackley", "guide-ucb / ucb"]
    assert ackley.under == "3 of 3 lower, p 0.25"
    assert by_function["sphere", "guide-ucb / ucb"].under.endswith("no difference")
    assert any("below 0.25" in note for note in tables_of(section)[1].notes)


def test_matched_needs_a_plain_rule(tmp_path):
    folder = Folder(tmp_path / "s").add_finals({("guide-ucb", "ackley"): [1.0]})
    assert matched_section(frame_of(folder)) is None


def test_sections_find_partners_under_settings_of_all_runs(tmp_path):
    folder = Folder(tmp_path / "s")
    finals = {(f"{p}ucb", "ackley"): [1.0, 2.0] for p in ("", "placebo-", "guide-")}
    folder.add_finals(finals, settings={"num_paths": 20, "beta": 2.0})
    frame = frame_of(folder)
    rows = tables_of(matched_section(frame))[0].rows
    assert [row[1].text for row in rows] == ["placebo-ucb / ucb", "guide-ucb / ucb"]
    assert [transfer.who.label for transfer in find_transfers(frame)] == ["guide-ucb"]


@pytest.fixture
def offcentre(tmp_path):
    folder = Folder(tmp_path / "s")
    folder.add_finals(
        {
            ("ucb", "ackley"): [8.0, 8.0],
            ("placebo-ucb", "ackley"): [4.0, 4.0],
            ("guide-ucb", "ackley"): [2.0, 2.0],
            ("ucb", "sphere"): [8.0, 8.0],
            ("placebo-ucb", "sphere"): [8.0, 8.0],
            ("guide-ucb", "sphere"): [16.0, None],
        },
        common_shift=0.3,
    )
    return frame_of(folder)


def test_transfer_is_what_goes_beyond_the_control(offcentre):
    (transfer,) = find_transfers(offcentre)
    two = math.log(2.0)
    assert transfer.to_plain.problem_means == pytest.approx([-2.0 * two, two])
    assert transfer.control_to_plain.problem_means == pytest.approx([-two, 0.0])
    assert transfer.to_control.problem_means == pytest.approx([-two, two])
    # The seed the method lacks is left out for all three.
    assert [len(v) for v in transfer.to_plain.by_problem.values()] == [2, 1]
    whole = transfer.to_plain.summary.mean
    parts = transfer.control_to_plain.summary.mean + transfer.to_control.summary.mean
    assert whole == pytest.approx(parts)
    # Means -log 2 and log 2: standard deviation √2 log 2 over two functions.
    assert transfer.to_control.summary.error == pytest.approx(two)


def test_transfer_section_says_what_it_finds(offcentre):
    section = transfer_section(offcentre)
    (row,) = tables_of(section)[0].rows
    assert row[6].value == pytest.approx(1.0)
    assert row[7].text == "1 of 2"
    (points,) = [block for block in section.blocks if isinstance(block, Points)]
    assert "not told apart from the control" in points.items[0]


def test_transfer_needs_the_control(regrets):
    assert transfer_section(regrets) is None


def test_curves_are_means_with_their_error(tmp_path):
    folder = Folder(tmp_path / "s")
    folder.add(spec(seed=0), run(1.0, start=3.0))
    folder.add(spec(seed=1), run(3.0, start=5.0))
    folder.add(spec(seed=2))
    frame = frame_of(folder)
    x, mean, error = mean_curve(frame.views[0], "ackley", frame.contenders[0])
    assert x.tolist() == [0.0, 1.0, 2.0]
    assert mean.tolist() == [4.0, 3.0, 2.0]
    assert error == pytest.approx([1.0, 1.0, 1.0])
    (figure,) = curves_section(frame).blocks[1:]
    assert figure.notes[-1] == "Over fewer seeds than asked for: ucb on 1 problem."


def test_ablation_beside_the_papers(tmp_path):
    folder = Folder(tmp_path / "s")
    parts = {"full": 1.0, "no-merging": 1.1, "uniform-scaling": 2.0, "vanilla-ucb": 3.0}
    for variant, scale in parts.items():
        for problem, base in (("ackley", 8.0), ("zakharov", 20.0)):
            for seed in range(2):
                row = spec(problem, "guide-ucb", seed, settings={"v": variant})
                folder.add(row, run(scale * (base + seed)), variant=variant)
    section = ablation_section(frame_of(folder))
    cells = cells_of(section)
    assert cells["ackley", "full"].mark == "best"
    assert dict(cells["ackley", "full"].data)["paper"] == 8.4785
    assert cells["average rank", "uniform-scaling"].value == 3.0
    # Among these four the paper has 22.17, 25.37, 52.07 and 49.88 on Zakharov.
    assert cells["paper's, same variants", "uniform-scaling"].value == 3.5
    assert cells["paper's, published", "uniform-scaling"].value == 6.25
    sentence = section.blocks[0]
    assert "uniform-scaling" in sentence
    assert "×2.00" in sentence
    assert "higher on 2 of 2 functions" in sentence


def test_sensitivity_beside_the_papers(tmp_path):
    folder = Folder(tmp_path / "s")
    for value in (100, None, 1000):
        settings = {} if value is None else {"num_paths": value}
        for seed in range(2):
            row = spec("rastrigin", "guide-ucb", seed, level=3, settings=settings)
            folder.add(row, run(90.0 + seed), group="num_paths")
    for value in (1, None):
        settings = {} if value is None else {"packet_size": value}
        row = spec("rastrigin", "guide-ucb", 0, level=3, settings=settings)
        folder.add(row, None, group="packet_size")
    section = sensitivity_section(frame_of(folder))
    paths, packets, beside = tables_of(section)
    assert [row[0].text for row in paths.rows] == ["100", "500 (default)", "1000"]
    cells = cells_of(section)
    assert dict(cells["500 (default)", "rastrigin"].data)["paper"] == 90.8849
    assert cells["100", "rastrigin"].text == "90.50 ± 0.50"
    assert [row[0].text for row in packets.rows] == ["1", "5 (default)"]
    assert packets.rows[0][1].text == "- (0 of 1 seeds)"
    texts = [[cell.text for cell in row] for row in beside.rows]
    assert texts == [
        ["num_paths 100, guide-ucb, Level 3", "+0"],
        ["num_paths 1000, guide-ucb, Level 3", "+0"],
    ]


def test_settings_are_compared_with_the_default_by_seed(tmp_path):
    """Seeds differ by tens, the setting by one and a half: pairs tell."""
    folder = Folder(tmp_path / "s")
    gains = {None: (0.0, 0.0, 0.0), 100: (1.0, 2.0, 1.5), 1000: (-1.0, 1.0, 0.0)}
    for value, differences in gains.items():
        settings = {} if value is None else {"num_paths": value}
        for seed, difference in enumerate(differences):
            row = spec("rastrigin", "guide-ucb", seed, level=3, settings=settings)
            folder.add(row, run(20.0 * seed + 5.0 + difference), group="num_paths")
    *_, beside = tables_of(sensitivity_section(frame_of(folder)))
    (fewer, more) = (dict(row[1].data) for row in beside.rows)
    assert (fewer[""], more[""]) == (pytest.approx(1.5), pytest.approx(0.0))
    assert fewer["SE"] == pytest.approx(0.5 / 3**0.5)
    # t = 1.5 / (0.5 / √3) = 5.196 with two degrees of freedom.
    assert fewer["p"] == pytest.approx(0.035098, rel=1e-3)
    assert fewer["p Holm"] == pytest.approx(2 * fewer["p"])
    assert more["p"] == more["p Holm"] == pytest.approx(1.0)


def test_two_betas_are_no_scan(tmp_path):
    folder = Folder(tmp_path / "s")
    folder.add(spec(), run(1.0)).add(spec(settings={"beta": 2.0}), run(2.0))
    assert sensitivity_section(frame_of(folder)) is None


def test_communication_beside_the_papers(tmp_path):
    folder = Folder(tmp_path / "s").add_finals({("guide-ucb", "ackley"): [1.0, 2.0]})
    (row,) = tables_of(communication_section(frame_of(folder)))[0].rows
    texts = [cell.text for cell in row]
    assert texts == [
        "guide-ucb",
        "22",
        "80.50",
        "22",
        "105",
        "22",
        "105",
        "500",
        "1800",
    ]


def test_runtime_beside_the_papers(tmp_path):
    folder = Folder(tmp_path / "s")
    for seed, (plain, guided) in enumerate([(4.0, 10.0), (6.0, 20.0)]):
        folder.add(spec(seed=seed), run(1.0, seconds=plain))
        folder.add(spec(method="guide-ucb", seed=seed), run(1.0, seconds=guided))
    cell = cells_of(runtime_section(frame_of(folder)))["ackley", "guide-ucb"]
    data = dict(cell.data)
    assert data["seconds"] == 15.0
    assert data["ratio"] == 3.0
    assert data["paper"] == 275.87
    assert data["paper ratio"] == pytest.approx(275.87 / 143.48)


@pytest.mark.parametrize(
    ("second", "told", "opening"),
    [
        ({"total": 9.0, "processor": 3.0}, 2.0, "Processor seconds"),
        ({"total": 9.0}, 7.0, "Wall-clock seconds"),
    ],
)
def test_runtime_is_the_processors_where_every_record_has_it(
    tmp_path, second, told, opening
):
    folder, first = Folder(tmp_path / "s"), {"total": 5.0, "processor": 1.0}
    for seed, seconds in enumerate((first, second)):
        folder.add(spec(seed=seed), run(1.0) | {"seconds": seconds})
    section = runtime_section(frame_of(folder))
    assert cells_of(section)["ackley", "ucb"].value == told
    assert any(str(block).startswith(opening) for block in section.blocks)


def test_similarity_beside_the_papers(tmp_path):
    folder = Folder(tmp_path / "s")
    for seed, value in enumerate((0.4, 0.5, None)):
        row = {"problem": "ackley", "dim": 10, "level": 2, "common_shift": 0.0}
        row |= {"num_agents": 16, "seed": seed}
        form = {"format": "guidefbo-similarity", "version": 1, "similarity": value}
        record = None if value is None else form
        folder.add(row, record)
    frame = frame_of(folder)
    row = tables_of(similarity_section(frame))[0].rows[0]
    texts = [cell.text for cell in row]
    assert texts == ["ackley", "0.450 ± 0.050 (2 of 3 seeds)", "0.485", "-0.035"]
    names = [section.name for section in write_sections(frame)]
    assert names == ["similarity", "bookkeeping"]


def test_the_bookkeeping_tells_what_is_there(tmp_path):
    folder = Folder(tmp_path / "s", name="it's")
    folder.add(spec(seed=0), run(1.0)).add(spec(seed=1), error="NumericalError: no")
    folder.add(spec(seed=2)).add(spec(seed=3))
    section = bookkeeping_section(frame_of(folder), ["odd"])
    texts = " ".join(block for block in section.blocks if isinstance(block, str))
    assert "4 runs asked for, 1 finished, 1 failed, 2 missing" in texts
    assert "odd" in texts
    assert "guidefbo 0.1.0, python 3.11 (1 runs)" in texts
    (points,) = [block for block in section.blocks if isinstance(block, Points)]
    assert points.items == ("ackley, level 2, ucb, seed 1: NumericalError: no",)


def again(folder):
    """Return the sentence and the commands that make a study again."""
    results = read_study(folder.save())
    return introduction(results), commands(results)


def test_commands_are_quoted(tmp_path):
    definition = {"common": {"level": [1, 2]}, "grid": [{"method": ["ucb", "nei"]}]}
    calls = [{"where": ["level=2", "method=ucb"], "repetitions": 2}]
    folder = Folder(tmp_path / "a s", name="a b", definition=definition, calls=calls)
    folder.add(spec(seed=0)).add(spec(seed=1))
    said, (first, second) = again(folder)
    assert "in place of a b.toml (it does not come with guidefbo)" in said
    assert first == (
        "guidefbo study run 'a b.toml' --where level=2 --where method=ucb "
        f"--repetitions 2 --out '{tmp_path}/a s'"
    )
    assert second == f"guidefbo study report '{tmp_path}/a s'"


def test_commands_of_a_pack_name_a_folder_for_it(tmp_path):
    folder = Folder(tmp_path / "s", name="a b").add(spec())
    pack = tmp_path / "p.json.gz"
    pack.write_bytes(pack_study(read_study(folder.save())))
    first, second = commands(read_study(pack))
    assert first == "guidefbo study run 'a b.toml' --out 'results/a b'"
    assert second == "guidefbo study report 'results/a b' --out 'reports/a b'"


def test_calls_that_are_not_recorded_are_not_guessed(tmp_path):
    definition = {"common": {"level": [1, 2]}, "grid": [{"method": ["ucb", "nei"]}]}
    folder = Folder(tmp_path / "s", name="own", definition=definition)
    said, lines = again(folder.add(spec(seed=0)).add(spec(seed=1)))
    assert "whether it was narrowed is not recorded" in said
    assert lines[:-1] == (f"guidefbo study run own.toml --out {tmp_path}/s",)


def test_commands_are_those_that_were_given(tmp_path):
    calls = [
        {"where": ["beta=2,4", "method=ucb"], "repetitions": 3},
        {"where": [], "repetitions": 1, "change": ["num_rounds=2", "level=1,2"]},
    ]
    definition = {"grid": [{"settings": {"beta": [1, 2, 4]}}]}
    folder = Folder(tmp_path / "s", name="own", definition=definition, calls=calls)
    said, lines = again(folder.add(spec()))
    assert "not recorded" not in said
    assert lines[:-1] == (
        "guidefbo study run own.toml --where beta=2,4 --where method=ucb "
        f"--repetitions 3 --out {tmp_path}/s",
        "guidefbo study run own.toml --change num_rounds=2 --change level=1,2 "
        f"--repetitions 1 --out {tmp_path}/s",
    )


@pytest.mark.parametrize("where", [[], ["problem=levy", "level=1"]])
def test_commands_of_a_shipped_study_name_it(tmp_path, where):
    study = load_study("quick")
    store = Store(tmp_path / "s")
    with store.held():
        call = Call(where=tuple(where), repetitions=study.repetitions)
        store.describe(study, plan_rows(study, where=where), call)
    results = read_study(store.folder)
    words = shlex.split(commands(results)[0])
    assert words[:4] == ["guidefbo", "study", "run", "quick"]
    given = [words[n + 1] for n, word in enumerate(words) if word == "--where"]
    assert given == where
    assert introduction(results).endswith("report again:")


def test_a_study_with_the_name_of_a_shipped_one_is_another(tmp_path):
    definition = {"grid": [{"problem": "ackley"}]}
    folder = Folder(tmp_path / "s", name="quick", definition=definition).add(spec())
    assert again(folder)[1][0].startswith("guidefbo study run quick.toml ")


@pytest.mark.parametrize("seed", [None, "x", [1], -5])
def test_commands_of_strange_rows_are_given(tmp_path, seed):
    definition = {"first_seed": "x", "common": 3, "grid": [4], "variants": []}
    folder = Folder(tmp_path / "s", definition=definition)
    _, lines = again(folder.add(spec(seed=seed, level=[1])).add({}))
    assert lines


def test_asked_sections_come_even_if_empty(tmp_path):
    folder = Folder(tmp_path / "s", sections=["transfer", "regret", "nonsense"])
    folder.add_finals(finals_of(["ucb"]))
    sections = write_sections(frame_of(folder))
    assert [s.name for s in sections] == ["regret", "transfer", "bookkeeping"]
    assert "do not allow" in sections[1].blocks[-1]


def test_a_study_without_any_run_is_reported(tmp_path):
    folder = Folder(tmp_path / "s").add(spec()).add(spec(method="guide-ucb"))
    names = [section.name for section in write_sections(frame_of(folder))]
    assert "regret" in names
    assert "curves" not in names


@pytest.mark.parametrize(
    "methods",
    [
        None,
        [],
        {"ucb": 3, "guide-ucb": {"strategy": 1, "rule": "ucb"}},
        {
            name: {"strategy": "s", "rule": "r", "alone": 3, "settings": [], "dash": {}}
            for name in ("ucb", "guide-ucb")
        },
    ],
    ids=["none", "a-list", "no-notes", "strange-notes"],
)
def test_a_study_whose_methods_are_not_known_is_reported(tmp_path, methods):
    """What needs no note is told, and nothing stands beside the paper's."""
    folder = Folder(tmp_path / "s", methods=methods)
    folder.add_finals(finals_of(["ucb", "guide-ucb"]))
    frame = frame_of(folder)
    names = [section.name for section in write_sections(frame)]
    assert {"results", "regret", "ranks", "curves", "bookkeeping"} <= set(names)
    assert not {"matched", "transfer"} & set(names)
    assert "paper" not in dict(cells_of(regret_section(frame))["levy", "ucb"].data)
