"""`guidefbo problems`: the list, and problems made of tables."""

import pytest
from tests.problems.test_table import HEADER, grid_rows, measured, write
from typer.testing import CliRunner

from guidefbo.cli.app import app


def invoke(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def from_table(path, *words):
    columns = ("--site", "lab", "--value", "yield")
    return invoke("problems", "from-table", path, *columns, *words)


def test_list():
    done = invoke("problems")
    assert done.exit_code == 0
    assert done.stdout.startswith("ackley ")


def test_a_complete_table(tmp_path):
    path = write(tmp_path / "t.csv", HEADER, grid_rows())
    done = from_table(path, "--unit", "%")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines() == [
        "t.csv: 2 sites, 36 results, 3 parameters",
        "  dose  3 levels, 0.1 to 10",
        "  drug  one of a, b, c",
        "  days  whole number, 2 to 4",
        "t.csv, looked up exactly: every site has a result for every setting.",
        f"Wrote {tmp_path / 't.toml'}",
        f"Run it: guidefbo run {tmp_path / 't.toml'} --method guide-ucb",
    ]
    run = invoke("run", tmp_path / "t.toml", "--method", "ucb", "--init", 2)
    assert run.exit_code == 0, run.output


def test_a_problem_that_is_there_is_replaced_by_force_only(tmp_path):
    path = write(tmp_path / "t.csv", HEADER, grid_rows())
    assert from_table(path).exit_code == 0
    text = path.with_suffix(".toml").read_text()
    done = from_table(path, "--unit", "g")
    assert done.exit_code == 2
    assert "Replace it with --force" in " ".join(done.stderr.split())
    assert path.with_suffix(".toml").read_text() == text
    assert from_table(path, "--unit", "g", "--force").exit_code == 0
    assert path.with_suffix(".toml").read_text() == text.replace('""', '"g"')


def test_an_incomplete_table(tmp_path):
    rows = [*measured(), *measured(seed=1, site="Lab 2")]
    path = write(tmp_path / "t.csv", HEADER, rows)
    done = from_table(path, "--log", "dose", "--out", tmp_path / "other.toml")
    assert done.exit_code == 0, done.output
    assert "t.csv, emulated by a Gaussian process a site" in done.stdout
    assert "  north    40 rows, cross-validated RMSE 0.0" in done.stdout
    assert done.stderr == ""
    run = invoke("run", tmp_path / "other.toml", "--method", "ucb", "--rounds", 1)
    assert run.exit_code == 0, run.output
    assert "mean best yield" in run.output


def test_poor_emulators_and_untried_options_are_told(tmp_path):
    rows = [*measured(), *measured(seed=1, site="Lab 2")]
    flat = [(*row[:-1], float(n * 7919 % 13)) for n, row in enumerate(rows[:40])]
    rows = [row for row in flat if row[2] == "a"] + rows[40:]
    done = from_table(write(tmp_path / "t.csv", HEADER, rows))
    assert done.exit_code == 0, done.output
    said = " ".join(done.stderr.split())
    assert "The emulator of north explains little" in said
    assert "north has no result with drug=b, c; its emulator guesses there." in said


@pytest.mark.parametrize("place", ["elsewhere/t.toml", "t.json"])
def test_the_problem_stands_beside_its_table(tmp_path, place):
    path = write(tmp_path / "t.csv", HEADER, grid_rows())
    (tmp_path / "elsewhere").mkdir()
    done = from_table(path, "--out", tmp_path / place)
    assert done.exit_code == 2
    assert "in the folder of" in " ".join(done.stderr.split())
    assert not (tmp_path / place).exists()


def test_a_bad_table_is_one_sentence(tmp_path):
    path = write(tmp_path / "t.csv", HEADER, [("a", "b", "c", "d", "e")])
    done = from_table(path)
    assert done.exit_code == 2
    assert "row 2: expected yield as a finite number" in " ".join(done.stderr.split())
    assert not path.with_suffix(".toml").exists()
