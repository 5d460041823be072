"""The page on the paper's claims says what the committed tables say."""

import csv
import json
import re
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from guidefbo.experiments.results import read_study
from guidefbo.reports.paper import METHODS, paper_tables

DOCS = Path(__file__).parents[1] / "docs"
RESULTS = DOCS / "results"
PAGE = (DOCS / "paper.md").read_text(encoding="utf-8")
ADDRESSES = dict(re.findall(r"^\[([a-z0-9-]+)\]: (\S+)$", PAGE, flags=re.M))
VERDICTS = ("agree", "partly", "not", "not run")
APPENDICES = "Appendices D to H"
ROW = re.compile(r"^\| (?P<no>\d+) \|.*\| \*\*(?P<verdict>[a-z ]+)\*\* \|$")
NUMBER = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.]*\w)")


def sections():
    """Return the claims of every section: number, row and verdict."""
    found = {}
    for part in PAGE.split("\n## ")[1:]:
        lines = part.splitlines()
        rows = [match for match in map(ROW.match, lines) if match]
        if rows:
            found[lines[0]] = [(int(r["no"]), r[0], r["verdict"]) for r in rows]
    return found


SECTIONS = sections()
CLAIMS = {no: row for rows in SECTIONS.values() for no, row, _ in rows}


def cells(line):
    return [cell.strip(" *") for cell in line.strip("|\n").split("|")]


def first_table(section):
    """Return the cells of a section's first table, without heads."""
    text = PAGE.partition(f"## {section}\n\n")[2]
    (block, *_) = (part for part in text.split("\n\n") if part.startswith("|"))
    return [cells(line)[1:] for line in block.splitlines()[2:]]


def table(path):
    """Return the rows of a table of a report."""
    with (RESULTS / path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def targets(text):
    """Return the pages and figures that a text leads to."""
    named = [ADDRESSES[name] for name in re.findall(r"\]\[([^\]]+)\]", text)]
    plain = re.findall(r"\]\(([^)#]+\.md)", text)
    return {address.partition("#")[0] for address in [*named, *plain]}


def numbers_in(*texts):
    found = [number for text in texts for number in re.findall(r"\d+\.\d+", text)]
    return np.array(found, dtype=np.float64)


@cache
def numbers_of(page):
    """Return the numbers of a page and of the tables beside it."""
    path = DOCS / page
    pages = [path] if path.suffix == ".md" else []
    pages += path.parent.glob("tables/*.csv") if path.name == "report.md" else ()
    return numbers_in(*(page.read_text(encoding="utf-8") for page in pages))


@cache
def published():
    """Return the numbers of the paper's tables, values of settings included."""
    return numbers_in(json.dumps(paper_tables()))


def stands_in(figure, numbers):
    """Whether one of the numbers, rounded as the figure is, is the figure."""
    half = 0.5 * 10.0 ** -len(figure.partition(".")[2])
    return bool((np.abs(numbers - float(figure)) <= half * (1 + 1e-6)).any())


def test_claims_are_numbered_and_judged():
    assert list(CLAIMS) == list(range(1, len(CLAIMS) + 1))
    # That nothing is left that was not run is no mistake.
    judged = {v for rows in SECTIONS.values() for *_, v in rows}
    assert {*judged, "not run"} == set(VERDICTS)


def count(rows):
    return [len(rows), *(sum(v == verdict for *_, v in rows) for verdict in VERDICTS)]


def test_summary_counts_the_claims():
    told = [list(map(int, row)) for row in first_table("In short")]
    main = [rows for name, rows in SECTIONS.items() if name != APPENDICES]
    whole = [row for rows in main for row in rows]
    assert told == [count(rows) for rows in [*main, whole, SECTIONS[APPENDICES]]]
    claims, agree, partly, no, not_run = count(whole)
    sentence = (
        f"of {claims}, {agree} agree, {partly} partly, {no} do not; not run: {not_run}."
    )
    assert sentence in (RESULTS / "index.md").read_text(encoding="utf-8")


def test_names_of_links_are_those_given():
    """MkDocs leaves a name without an address as it stands, and says nothing."""
    used = set(re.findall(r"\]\[([^\]]+)\]", PAGE))
    assert used == ADDRESSES.keys()


@pytest.mark.parametrize("no", CLAIMS)
def test_a_claim_that_was_run_leads_to_its_table(no):
    row = CLAIMS[no]
    assert targets(row) or row.endswith("| **not run** |")


@pytest.mark.parametrize("no", [no for no, row in CLAIMS.items() if NUMBER.search(row)])
def test_figures_of_a_claim_stand_in_its_tables(no):
    row = CLAIMS[no]
    sources = [published(), *map(numbers_of, targets(row))]
    text = re.sub(r"\]\([^)]*\)|\]\[[^\]]*\]", "", row)
    figures = NUMBER.findall(text)
    assert not [f for f in figures if not any(stands_in(f, s) for s in sources)]


@pytest.mark.parametrize("section", ["In short", "The middle of the box"])
def test_figures_before_the_claims_stand_in_a_table(section):
    text = PAGE.partition(f"## {section}\n")[2].partition("\n## ")[0]
    figures = NUMBER.findall(re.sub(r"^\| 5\.\d ", "", text, flags=re.M))
    sources = [numbers_of(ADDRESSES[name]) for name in ("main", "offcentre", "methods")]
    assert figures
    assert not [f for f in figures if not any(stands_in(f, s) for s in sources)]


def test_a_figure_that_stands_nowhere_is_found():
    assert stands_in("0.253", numbers_of(ADDRESSES["main"]))
    assert not stands_in("0.2544", numbers_of(ADDRESSES["main"]))


def test_table_of_the_middle_is_that_of_the_reports():
    told = first_table("The middle of the box")
    main = [
        row
        for row in table("main/tables/matched.csv")
        if row["method / plain rule"] == "guide-ucb / ucb"
    ]
    split = [
        row
        for row in table("offcentre/tables/transfer.csv")
        if row["method"] == "guide-ucb" and "noise" not in row["conditions"]
    ]
    columns = [
        [row["paper: mean ratio ratio"] for row in main],
        [row["mean ratio ratio"] for row in main],
        *(
            [row[name] for row in split]
            for name in (
                "method / plain ratio",
                "control / plain ratio",
                "method / control ratio",
            )
        ),
    ]
    assert told[:-1] == [[f"{float(v):.3f}" for v in row] for row in columns]
    chances = [float(row["Wilcoxon against control p functions"]) for row in split]
    assert told[-1] == [f"{p:.2g}" for p in chances]


def regrets(level):
    """Return the final regrets of the main study, ours, by function and method."""
    rows = table(f"main/tables/regret-level-{level}.csv")[:-1]
    methods = [name.removesuffix(" mean") for name in rows[0] if name.endswith(" mean")]
    return {
        row["function"]: {method: float(row[f"{method} mean"]) for method in methods}
        for row in rows
    }


def all_twelve():
    """Return the final regrets of the twelve methods at Level 2, means over seeds."""
    stored = json.loads((RESULTS / "methods.json").read_text(encoding="utf-8"))
    return {
        name: {
            method: sum(stored[method][name].values()) / len(stored[method][name])
            for method in METHODS
        }
        for name in stored["ucb"]
    }


def lowest(regrets, method, places=1):
    """Return the functions on which a method is among the best few."""
    return {
        name
        for name, row in regrets.items()
        if method in sorted(row, key=row.get)[:places]
    }


def below(regrets, method, other):
    return sum(row[method] < row[other] for row in regrets.values())


def test_counts_of_the_main_study():
    counts = [
        row["functions lower lower"]
        for row in table("main/tables/matched.csv")
        if row["method / plain rule"] == "guide-ucb / ucb"
    ]
    assert "| {} of 12 and {} of 12, also".format(*counts) in CLAIMS[9]
    arithmetic = below(regrets(3), "guide-ucb", "ucb")
    told = f"At the same β: {counts[2]} of 12 ({arithmetic} by arithmetic means)"
    assert told in CLAIMS[10]
    assert f"on {counts[2]} of 12 functions instead of" in CLAIMS[17]
    assert f"above UCB on {12 - int(counts[2])} of 12" in CLAIMS[19]
    seconds = table("runtime/tables/runtime-level-2.csv")[:12]
    for no, rule in ((67, "ucb"), (68, "nei")):
        faster = sum(
            float(row[f"guide-{rule} seconds"]) < float(row[f"cgp-{rule} seconds"])
            for row in seconds
        )
        assert f"| On {faster} of 12:" in CLAIMS[no]


def test_the_lowest_of_the_main_study():
    corners = {"michalewicz", "styblinski-tang"}
    level_1, level_2, level_3 = map(regrets, (1, 2, 3))
    assert level_1.keys() - lowest(level_1, "guide-ucb", 2) == corners
    for no, level, method in (
        (44, level_1, "guide-ucb"),
        (50, level_2, "guide-ucb"),
        (51, level_2, "guide-nei"),
    ):
        alone, two = (len(lowest(level, method, places)) for places in (1, 2))
        assert re.search(rf"\| Lowest (of twelve )?on {alone}\b", CLAIMS[no])
        assert f"among the best two on {two}" in CLAIMS[no]
    assert lowest(level_1, "fts-de") == {"griewank"}
    assert f"| On {len(lowest(level_1, 'guide-nei', 2))}, second on" in CLAIMS[45]
    assert lowest(level_2, "guide-nei") & {"powell", "zakharov"} == {"powell"}
    two = lowest(level_2, "guide-ucb", 2) & lowest(level_2, "guide-nei", 2)
    assert "michalewicz" in two
    assert lowest(level_3, "guide-ucb") == {"levy", "rastrigin"}
    of_fmtbo = {"ellipsoid", "sphere", "weierstrass", "rosenbrock"}
    assert lowest(level_3, "fmtbo") == of_fmtbo
    named = {"ackley", "weierstrass", "powell"}
    assert lowest(level_3, "guide-nei") & named == {"ackley", "powell"}


def test_counts_of_the_rules_of_the_main_study():
    lower = {
        rule: [
            row["functions lower lower"]
            for row in table("main/tables/matched.csv")
            if row["method / plain rule"] == f"guide-{rule} / {rule}"
        ]
        for rule in ("ucb", "nei", "ts")
    }
    for no, rule in ((11, "nei"), (12, "ts")):
        assert "| On {}, {} and {}".format(*lower[rule]) in CLAIMS[no]
    first, second, third = zip(*lower.values(), strict=True)
    pairs = zip(("UCB", "NEI", "TS"), first, second, strict=True)
    told = ", ".join(f"{rule} {one} and {two}" for rule, one, two in pairs)
    assert f"({told} of 12)" in CLAIMS[13]
    assert f"lower on {third[2]}, p " in CLAIMS[13]
    assert "({} and {} of 12)".format(*third) in CLAIMS[13]
    assert "on {2} instead of {0} and {1}.".format(*lower["nei"]) in CLAIMS[17]


def test_guide_is_early_where_the_page_says_so():
    """In six rounds it has what the rule alone has at the end, and stays ahead."""
    results = read_study(RESULTS / "main" / "runs.json.gz")
    curves = {}
    for row in results.rows:
        place = (row.spec["method"], row.spec["level"], row.spec["problem"])
        curves.setdefault(place, []).append(results.outcomes[row.key].curve)
    means = {place: np.mean(found, axis=0) for place, found in curves.items()}
    for level, rule in product((1, 2), ("ucb", "nei")):
        early = {
            name
            for name in regrets(level)
            for ours in [means[f"guide-{rule}", level, name]]
            for plain in [means[rule, level, name]]
            if ours[6] <= plain[-1] and (ours[6:] < plain[6:]).all()
        }
        assert regrets(level).keys() - early == {"michalewicz", "styblinski-tang"}


def test_counts_of_the_twelve_methods():
    level_2 = all_twelve()
    nei = below(level_2, "guide-nei", "nei")
    assert f"By older runs it is {nei} of 12" in CLAIMS[11]
    for no, method in ((50, "guide-ucb"), (51, "guide-nei")):
        alone, two = (len(lowest(level_2, method, places)) for places in (1, 2))
        assert re.search(rf"By older runs: lowest on {alone},", CLAIMS[no])
        assert f"among the best two on {two}" in CLAIMS[no]
    assert lowest(level_2, "guide-nei") & {"powell", "zakharov"} == {"powell"}


def test_count_at_the_betas_of_the_paper():
    text = (RESULTS / "faithfulness.md").read_text(encoding="utf-8")
    lines = text.partition("## Level 3\n")[2].splitlines()
    rows = [cells(line) for line in lines if line.startswith("|")][2:]
    lower = sum(float(r[4].split()[0]) < float(r[1].split()[0]) for r in rows)
    assert f"4 for GUIDE-UCB: {lower} of 12." in CLAIMS[10]
    assert f"again, {lower} of 12 functions; with 4 for both" in PAGE
