"""Tables of results as problems: what columns become, look-ups, emulators, refusals."""

import csv
import itertools
import tomllib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guidefbo import Choice, Float, Int
from guidefbo.core.errors import DataError, SettingsError
from guidefbo.core.space.levels import Levels
from guidefbo.experiments.run import run_study
from guidefbo.experiments.study import parse_study
from guidefbo.experiments.study_table import read_study
from guidefbo.problems.emulator import fit_emulator, groups_of
from guidefbo.problems.table import describe, table_problem
from guidefbo.problems.table_form import read_description, write_description
from guidefbo.problems.table_make import describe_table, unseen
from guidefbo.problems.table_space import settings_of
from guidefbo.simulation.simulate import simulate

DOSES, DRUGS, DAYS = (0.1, 1.0, 10.0), ("a", "b, c"), (2, 3, 4)


def write(path, header, rows, separator=","):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=separator).writerows([header, *rows])
    return path


def truth(site, dose, drug, days):
    """Every cell has a value of its own."""
    return (
        100.0 * (site == "Lab 2")
        + 10.0 * DOSES.index(dose)
        + 3.0 * DRUGS.index(drug)
        + 0.1 * days
    )


def grid_rows(repeats=1):
    for site, dose, drug, days in itertools.product(
        ("north", "Lab 2"), DOSES, DRUGS, DAYS
    ):
        for number in range(repeats):
            spread = number - (repeats - 1) / 2
            yield site, dose, drug, days, truth(site, dose, drug, days) + spread


HEADER = ("lab", "dose", "drug", "days", "yield")


def problem_of(path, **options):
    """Describe a table, write the description and load it again."""
    named = {"site": "lab", "value": "yield"} | options
    description, _ = describe_table(path, **named)
    file = path.with_suffix(".toml")
    file.write_text(write_description(description, "test"), encoding="utf-8")
    return table_problem(file)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_complete_table_is_looked_up(tmp_path, separator):
    path = write(tmp_path / "t.csv", HEADER, grid_rows(), separator)
    tasks = problem_of(path, unit="%")
    assert tasks.space.parameters == {
        "dose": Levels(0.1, 1, 10),
        "drug": Choice("a", "b, c"),
        "days": Int(2, 4),  # consecutive whole numbers stay as they are
    }
    assert tasks.names == ("north", "Lab-2")
    assert (tasks.metric, tasks.unit, tasks.goal) == ("yield", "%", "max")
    assert "looked up exactly" in tasks.source
    assert tasks.observers is None
    for site, function in zip(("north", "Lab 2"), tasks.functions, strict=True):
        for dose, drug, days in itertools.product(DOSES, DRUGS, DAYS):
            asked = {"dose": dose, "drug": drug, "days": days}
            assert function(asked) == truth(site, dose, drug, days)
    assert tasks.optima == [23.4, 123.4]
    # At most half of its 18 settings.
    assert (tasks.num_initial, tasks.num_rounds) == (3, 6)


def test_the_smallest_value_is_the_best_of_a_goal_of_min(tmp_path):
    path = write(tmp_path / "t.csv", HEADER, grid_rows())
    assert problem_of(path, goal="min").optima == [0.2, 100.2]


def test_a_logarithmic_column_is_one_in_a_complete_table_too(tmp_path):
    header, doses = ("lab", "dose", "yield"), (1, 2, 100)
    rows = [("s", dose, float(dose)) for dose in doses]
    tasks = problem_of(write(tmp_path / "t.csv", header, rows), logs=["dose"])
    assert tasks.space.parameters == {"dose": Levels(1, 2, 100, log=True)}
    low, middle, high = (tasks.space.to_unit({"dose": d})[0] for d in doses)
    assert (middle - low) / (high - low) == pytest.approx(np.log(2) / np.log(100))
    whole = [("s", days, float(days)) for days in (1, 2, 3)]
    tasks = problem_of(write(tmp_path / "u.csv", header, whole), logs=["dose"])
    assert tasks.space.parameters == {"dose": Int(1, 3, log=True)}
    path = write(tmp_path / "v.csv", header, [("s", d, 1.0) for d in (0, 2, 100)])
    refused(path, "Logarithmic levels must be above 0", logs=["dose"])


def test_the_table_of_evaluations_has_the_values_of_the_table(tmp_path):
    path = write(tmp_path / "t.csv", HEADER, grid_rows())
    problem_of(path)
    common = {"problem": str(path.with_suffix(".toml")), "method": "ucb"}
    study = parse_study({"common": common | {"num_rounds": 2}})
    run_study(study, tmp_path / "out", repetitions=1, jobs=1)
    frame = read_study(tmp_path / "out").to_frame()
    doses, values = list(frame["query.dose"]), list(frame["value"])
    assert set(doses) <= set(DOSES)
    rows = zip(
        frame["site"], doses, frame["query.drug"], frame["query.days"], strict=True
    )
    told = {"north": "north", "Lab-2": "Lab 2"}
    assert values == [truth(told[site], *setting) for site, *setting in rows]


def test_repetitions_are_noise_and_their_mean_is_the_truth(tmp_path):
    path = write(tmp_path / "t.csv", HEADER, grid_rows(repeats=3))
    tasks = problem_of(path)
    asked = {"dose": 1.0, "drug": "a", "days": 3}
    assert tasks.functions[0](asked) == pytest.approx(10.3)
    stream = np.random.default_rng(0)
    seen = {round(tasks.observers[0](asked, stream), 6) for _ in range(100)}
    assert seen == {9.3, 10.3, 11.3}
    assert tasks.optima == pytest.approx([23.4, 123.4])


def test_every_point_of_the_cube_has_an_answer(tmp_path):
    tasks = problem_of(write(tmp_path / "t.csv", HEADER, grid_rows()))
    rng = np.random.default_rng(1)
    points = np.vstack([rng.random((200, tasks.space.dim)), np.eye(tasks.space.dim)])
    values = [tasks.functions[0](tasks.space.from_unit(x)) for x in points]
    assert min(values) >= 0.2
    assert max(values) <= 23.4
    assert len(set(values)) == 18


def test_the_order_of_rows_is_no_matter(tmp_path):
    rows = list(grid_rows())
    first = problem_of(write(tmp_path / "a.csv", HEADER, rows))
    other = sorted(rows[1:], key=lambda row: row[2:4][::-1])
    second = problem_of(write(tmp_path / "b.csv", HEADER, [rows[0], *other]))
    assert first.space == second.space
    assert first.optima == second.optima


def test_a_column_of_numbers_may_be_a_choice(tmp_path):
    path = write(tmp_path / "t.csv", HEADER, grid_rows())
    tasks = problem_of(path, choices=["dose", "days"])
    assert tasks.space.parameters["dose"] == Choice(0.1, 1, 10)
    assert tasks.space.parameters["days"] == Choice(2, 3, 4)
    asked = {"dose": 10, "drug": "a", "days": 3}
    assert tasks.functions[0](asked) == truth("north", 10.0, "a", 3)


def test_numbers_written_in_two_ways_are_one_level(tmp_path):
    rows = [("s", "1.0", "1"), ("s", "2", "2"), ("t", "1", "3"), ("t", "2e0", "4")]
    tasks = problem_of(write(tmp_path / "t.csv", ("lab", "x", "yield"), rows))
    assert tasks.space.parameters == {"x": Int(1, 2)}
    assert [f({"x": 2}) for f in tasks.functions] == [2.0, 4.0]


@settings(max_examples=25)
@given(
    levels=st.lists(
        st.lists(st.integers(-5, 5).map(lambda n: n / 4), min_size=2, unique=True),
        min_size=1,
        max_size=3,
    ).filter(lambda sizes: np.prod([len(s) for s in sizes]) <= 60),
    seed=st.integers(0, 1000),
)
def test_any_complete_grid_is_looked_up(tmp_path_factory, levels, seed):
    rng = np.random.default_rng(seed)
    names = [f"x{n}" for n in range(len(levels))]
    rows = [("s", *cell, rng.normal()) for cell in itertools.product(*levels)]
    rng.shuffle(rows)
    path = tmp_path_factory.mktemp("grid") / "t.csv"
    write(path, ("lab", *names, "yield"), rows)
    tasks = problem_of(path)
    for _, *cell, value in rows:
        asked = dict(zip(names, cell, strict=True))
        assert tasks.space.to_unit(asked) is not None
        assert tasks.functions[0](asked) == float(value)
    assert tasks.optima == [max(float(row[-1]) for row in rows)]


def measured(num_rows=40, seed=0, site="north", shift=0.0):
    rng = np.random.default_rng(seed)
    for _ in range(num_rows):
        dose, drug, days = (
            10 ** rng.uniform(-1, 1),
            DRUGS[rng.integers(2)],
            rng.integers(1, 9),
        )
        value = 5 * np.log10(dose) + (drug == "a") + 0.3 * days + shift
        yield site, dose, drug, days, value + 0.05 * rng.normal()


def incomplete_rows():
    return [*measured(), *measured(seed=1, site="Lab 2", shift=4.0)]


@pytest.fixture
def incomplete(tmp_path):
    return write(tmp_path / "t.csv", HEADER, incomplete_rows())


def test_other_tables_are_emulated(incomplete):
    tasks = problem_of(incomplete, logs=["dose"], unit="g")
    dose, days = tasks.space.parameters["dose"], tasks.space.parameters["days"]
    assert isinstance(dose, Float)
    assert dose.log
    assert days == Int(1, 8)
    assert 0.1 <= dose.low < dose.high <= 10.0
    assert tasks.optima is None
    assert tasks.source.startswith("t.csv, emulated by a Gaussian process a site; ")
    assert tasks.source.endswith(" g, R² 1.00")
    asked = {"dose": 1.0, "drug": "a", "days": 4}
    assert tasks.functions[0](asked) == pytest.approx(2.2, abs=0.15)
    assert tasks.functions[1](asked) == pytest.approx(6.2, abs=0.15)
    stream = np.random.default_rng(0)
    seen = [tasks.observers[0](asked, stream) for _ in range(300)]
    assert np.mean(seen) == pytest.approx(tasks.functions[0](asked), abs=0.02)
    assert 0.02 < np.std(seen) < 0.12


def test_the_emulator_of_a_description_is_the_one_that_was_fitted(incomplete):
    description, table = describe_table(
        incomplete, site="lab", value="yield", logs=["dose"]
    )
    space = description.space
    X = np.array([space.to_unit(row) for row in settings_of(space, table)])
    rows = table.rows_of("Lab 2")
    fitted = fit_emulator(X[rows], table.values[rows], groups_of(space))
    assert description.emulators[1].site == "Lab 2"
    assert description.emulators[1].hyper == fitted.hyper
    assert description.emulators[1].error == fitted.cross_validated_error()
    loaded = problem_of(incomplete, logs=["dose"]).functions[1]
    asked = {"dose": 2.0, "drug": "b, c", "days": 5}
    assert loaded(asked) == pytest.approx(
        float(fitted.predict(space.to_unit(asked)[None])[0]), rel=1e-12
    )


def test_a_complete_table_may_be_emulated(tmp_path):
    tasks = problem_of(write(tmp_path / "t.csv", HEADER, grid_rows()), emulate=True)
    assert tasks.space.parameters["dose"] == Float(0.1, 10.0)
    assert "emulated" in tasks.source


def test_one_missing_cell_makes_it_emulated(tmp_path):
    path = write(tmp_path / "t.csv", HEADER, list(grid_rows())[:-1])
    assert "emulated" in problem_of(path).source


def test_columns_can_be_left_out(incomplete):
    tasks = problem_of(incomplete, ignore=["days"])
    assert list(tasks.space.parameters) == ["dose", "drug"]


def test_options_a_site_never_tried_are_named(tmp_path):
    rows = [row for row in measured(60) if row[2] == "a"]
    rows += measured(seed=1, site="Lab 2")
    path = write(tmp_path / "t.csv", HEADER, rows)
    description, table = describe_table(path, site="lab", value="yield")
    assert unseen(description.space, table) == {"north": ["drug=b, c"]}


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    path = write(tmp_path / "t.csv", HEADER, grid_rows())
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert problem_of(path).num_agents == 2


@pytest.mark.parametrize("method", ["ucb", "consensus-nei"])
def test_methods_run_on_a_table(tmp_path, method):
    path = write(tmp_path / "t.csv", HEADER, grid_rows())
    problem_of(path)
    name = str(path.with_suffix(".toml"))
    trace = simulate(name, method=method, num_initial=2, num_rounds=2, seed=0)
    assert (np.diff(trace.mean_simple_regret) <= 0).all()
    assert trace.mean_simple_regret[-1] >= 0.0


def refused(path, match, **options):
    named = {"site": "lab", "value": "yield"} | options
    with pytest.raises(DataError, match=match):
        describe_table(path, **named)


GOOD = [("s", 0.5, "a", 1, 2.0), ("s", 1.5, "b", 2, 3.0), ("t", 0.5, "b", 2, 1.0)]


def changed(column, text, row=1):
    rows = [list(r) for r in GOOD]
    rows[row][column] = text
    return rows


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        ([], "got none"),
        ([GOOD[0][:3]], "row 2: expected 5 cells, got 3"),
        (changed(1, ""), "row 3: dose is empty.*--ignore dose"),
        (changed(4, ""), "row 3: yield is empty"),
        (changed(4, "much"), "row 3: expected yield as a finite number, got 'much'"),
        (changed(4, "nan"), "row 3: expected yield as a finite number"),
        (changed(4, "1e200"), "row 3: expected yield as a finite number"),
        (changed(4, "1,5"), "Write a point, not a comma"),
        (
            [(s, x, d, f"{n},5", y) for s, x, d, n, y in GOOD],
            "days has numbers with a decimal comma, such as 1,5",
        ),
        (changed(1, "NA"), "row 3: dose is 'NA' here.*--choice dose"),
        ([(s, 1, d, n, y) for s, _, d, n, y in GOOD], "dose is 1 in every row"),
        ([(s, x, "a", n, y) for s, x, _, n, y in GOOD], "drug is a in every row"),
        ([("A b", *GOOD[0][1:]), ("A-b", *GOOD[1][1:])], "differ in signs only"),
        (GOOD, "site s: An emulator is fitted to 5 to 1000 rows a site, got 2"),
        (changed(2, "x\ny"), "must be a text of one line"),
    ],
)
def test_rows_that_are_refused(tmp_path, rows, match):
    refused(write(tmp_path / "t.csv", HEADER, rows), match)


def test_too_many_rows_for_an_emulator(tmp_path):
    path = write(tmp_path / "t.csv", HEADER, measured(1001))
    refused(path, "A table of all combinations needs no emulator")


@pytest.mark.parametrize(
    ("header", "match"),
    [
        (("lab", "x", "drug", "days", "result"), r"missing \['yield'\]"),
        (("lab", "x", "x", "days", "yield"), "each once"),
        (("lab", "x", "", "days", "yield"), "has no name"),
    ],
)
def test_headers_that_are_refused(tmp_path, header, match):
    refused(write(tmp_path / "t.csv", header, GOOD), match)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"value": "lab"}, "two columns"),
        ({"ignore": ["nothing"]}, r"missing \['nothing'\]"),
        ({"ignore": ["dose", "drug", "days"]}, "a column beside lab and yield"),
        ({"ignore": ["yield"]}, "yield is needed: it cannot be ignored"),
        ({"choices": ["colour"]}, "no parameter 'colour'; it has dose, drug, days"),
        ({"logs": ["yield"]}, "no parameter 'yield'"),
    ],
)
def test_options_that_are_refused(tmp_path, options, match):
    refused(write(tmp_path / "t.csv", HEADER, GOOD), match, **options)


def test_a_logarithm_needs_positive_numbers(tmp_path):
    rows = [*measured(), ("north", -1.0, "a", 3, 2.0)]
    refused(write(tmp_path / "t.csv", HEADER, rows), "must be above 0", logs=["dose"])


def test_a_goal_is_max_or_min(tmp_path):
    path = write(tmp_path / "t.csv", HEADER, grid_rows())
    with pytest.raises(SettingsError, match="most"):
        describe_table(path, site="lab", value="yield", goal="most")


def test_other_files_are_refused(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"\xff\xfe\x00")
    refused(tmp_path / "t.csv", "not UTF-8")
    refused(tmp_path / "nothing.csv", "No such file")
    refused(tmp_path, "only an ordinary file is read")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The texts of a table that is not complete and of its description."""
    path = write(tmp_path_factory.mktemp("made") / "t.csv", HEADER, incomplete_rows())
    problem_of(path, logs=["dose"])
    return path.read_bytes(), path.with_suffix(".toml").read_bytes()


@pytest.fixture
def described(made, tmp_path):
    """A description that can be damaged, beside its table."""
    (tmp_path / "t.csv").write_bytes(made[0])
    (tmp_path / "t.toml").write_bytes(made[1])
    return tmp_path / "t.toml"


def test_a_description_is_written_as_it_is_read(described):
    text = described.read_text(encoding="utf-8")
    description = read_description(tomllib.loads(text))
    assert write_description(description, "test") == text
    assert describe(description) == table_problem(described).source


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ('"guidefbo-table"', '"other"', "Expected format 'guidefbo-table'"),
        ("version = 2", "version = 1", "version 2"),
        ('"emulated"', '"guessed"', "kind must be exact or emulated"),
        ('"emulated"', '"exact"', "does not hold every setting"),
        ('"t.csv"', '"../t.csv"', "a file beside it"),
        ('"t.csv"', '"u.csv"', "u.csv.*belongs beside its description"),
        ('site = "lab"', 'site = "drug"', "does not fit its table"),
        ('site = "lab"', "site = 3", "site must be a text"),
        ("num_initial = 10", "num_initial = 0", "num_initial must be"),
        ("num_rounds = 30", 'colour = "red"', "Unknown fields"),
        ('site = "Lab 2"', 'site = "south"', "Expected an emulator for each of"),
        ("noise = ", "noise = -", "An emulator needs"),
        ("lengthscales = [", "lengthscales = [1.0, ", "An emulator needs"),
        ('goal = "max"', 'goal = "most"', "most"),
        ("high = 8", "high = 7", "does not fit its table"),
        ("version = 2", "version = ", "Cannot read"),
        ("[[emulators]]", "[emulators]", "Cannot read|list of tables"),
    ],
)
def test_a_damaged_description_is_refused(described, old, new, match):
    text = described.read_text(encoding="utf-8")
    assert old in text
    described.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises((DataError, SettingsError), match=match):
        table_problem(described)


def test_levels_must_be_those_of_the_parameter(tmp_path):
    problem_of(write(tmp_path / "t.csv", HEADER, grid_rows()))
    file = tmp_path / "t.toml"
    text = file.read_text()
    for new in ("[1, 0.1, 10]", '["a", "b", "c"]', "3", "[1]"):
        file.write_text(text.replace("[0.1, 1, 10]", new))
        with pytest.raises(DataError, match=r"Levels need 2|values must be a list"):
            table_problem(file)
    for new in ("[0.1, 1, 11]", "[0.1, 10]"):
        file.write_text(text.replace("[0.1, 1, 10]", new))
        with pytest.raises(DataError, match="is none of its levels"):
            table_problem(file)


def test_a_table_that_has_changed_is_refused(described):
    with described.with_suffix(".csv").open("a") as file:
        file.write("north,1.0,a,3,2.5\n")
    with pytest.raises(DataError, match=r"has changed since .*from-table"):
        table_problem(described)


def test_a_description_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match="No such file"):
        table_problem(tmp_path / "none.toml")


def test_a_table_is_read_once(described, monkeypatch):
    first = table_problem(described)
    monkeypatch.setattr("guidefbo.problems.table.read_text", None)
    assert table_problem(described) is first


def test_a_budget_may_be_edited(described):
    text = described.read_text(encoding="utf-8")
    described.write_text(text.replace("num_rounds = 30", "num_rounds = 7"))
    assert table_problem(described).num_rounds == 7
