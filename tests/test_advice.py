"""What is said of which method to use, held to the published tables."""

import importlib.util
import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from guidefbo.cli.app import app
from guidefbo.methods.advice import CASES, NO_EVIDENCE
from guidefbo.methods.default import DEFAULT_METHOD, LONE_METHOD
from guidefbo.methods.registry import find_method, method_names

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"


@pytest.fixture(scope="module")
def script():
    file = ROOT / "scripts" / "advice_table.py"
    spec = importlib.util.spec_from_file_location("advice_table", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_figure_is_that_of_its_table(script):
    assert script.disagreements() == []


def test_another_figure_would_be_noticed(script, monkeypatch):
    case = next(case for case in CASES if case.figures)
    off = replace(case.figures[0], value=case.figures[0].value + 0.01)
    monkeypatch.setattr(script, "CASES", [replace(case, figures=(off,))])
    (line,) = script.disagreements()
    assert f"says {case.figures[0].value}" in line


def test_the_page_is_that_of_the_module(script):
    text = script.PAGE.read_text(encoding="utf-8")
    assert script.renew(text) == text, "python scripts/advice_table.py --write"


@pytest.mark.parametrize(
    ("page", "says"),
    [
        ("consensus/judgement.md", "| 3 | 0.80 | 0.90 | 1.12 (log"),
        ("consensus-groups.md", "geometric mean** | 1.00 | 0.65 | 0.46 |"),
        (
            "shape-screened/judgement.md",
            "| 3 | no function worse than alone | | none is |",
        ),
        ("shape/judgement.md", "| 3 | `trend-nei` | 3 | 0.97 (-0.03 ± 0.03) |"),
    ],
)
def test_what_the_page_says_in_words_is_on_its_pages(page, says):
    assert says in (RESULTS / page).read_text(encoding="utf-8")


def test_every_situation_has_evidence_or_says_that_there_is_none():
    for case in CASES:
        assert bool(case.figures) != (case.advice == NO_EVIDENCE)
        named = set(re.findall(r"[a-z]+-[a-z]+", case.advice)) & set(method_names())
        assert named <= {figure.method for figure in case.figures}
    assert len({case.situation for case in CASES}) == len(CASES)


def test_the_advised_methods_can_be_used_at_a_site():
    for case in CASES:
        for figure in case.figures:
            assert find_method(figure.method).strategy.site_refusal is None


def test_the_command_says_the_same_in_short():
    done = CliRunner().invoke(app, ["methods", "--advise"])
    assert done.exit_code == 0
    assert f"default is {DEFAULT_METHOD}" in done.stdout
    assert LONE_METHOD in done.stdout
    for case in CASES:
        assert case.situation in done.stdout
        assert f"  use: {case.advice}" in done.stdout
        for figure in case.figures:
            assert str(figure) in done.stdout
            assert (RESULTS / figure.page).is_file()
