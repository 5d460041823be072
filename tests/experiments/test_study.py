"""Studies as people write them, and the rows they stand for."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guidefbo.core.errors import SettingsError
from guidefbo.experiments.keys import run_key
from guidefbo.experiments.plan import merge_rows, plan_rows, unused_settings
from guidefbo.experiments.study import list_studies, load_study, parse_study

GRID = {"problem": ["ackley", "sphere"], "method": ["ucb", "guide-ucb"], "level": 1}


def study(**changes):
    return parse_study({"name": "s", "repetitions": 2, "grid": [GRID], **changes})


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("main", 12 * 12 * 3 * 10),
        ("offcentre", 15 * 12 * 3 * 10 * 2),
        ("offcentre-matched", (9 + 2) * 12 * 3 * 5 * 2),
        ("ablation", 7 * 4 * 2 * 10),
        # Four grids of 5 + 5 + 4 + 5 values, the default once instead of four times.
        ("sensitivity", (5 + 5 + 4 + 5 - 3) * 2 * 10),
        ("communication", 12),
        ("runtime", 12 * 12 * 3),
        ("similarity", 12 * 3 * 10),
        ("harm", (1 + 2) * 12 * 3),
        ("quick", 36),
        ("quick-12", 12 * 2 * 2 * 2),
    ],
)
def test_a_shipped_study_has_the_size_of_the_paper_s(name, runs):
    assert len({row.key for row in plan_rows(load_study(name))}) == runs


def test_the_quick_study_of_all_methods_has_those_of_the_main_comparison():
    quick, main = (
        {row.spec["method"] for row in plan_rows(load_study(name), repetitions=1)}
        for name in ("quick-12", "main")
    )
    assert quick == main


def test_every_shipped_study_is_listed_with_a_title():
    listed = dict(list_studies())
    assert {"main", "offcentre", "quick"} <= listed.keys()
    assert all(listed.values())


def test_repetitions_are_outermost():
    seeds = [row.spec["seed"] for row in plan_rows(study())]
    assert seeds == [0] * 4 + [1] * 4


def test_a_setting_at_its_default_is_the_same_run():
    plain = plan_rows(study())
    written = plan_rows(study(grid=[GRID | {"settings": {"beta": 4}}]))
    other = plan_rows(study(grid=[GRID | {"settings": {"beta": 2}}]))
    assert [row.key for row in written] == [row.key for row in plain]
    assert not {row.key for row in other} & {row.key for row in plain}


def test_keys_differ_wherever_specs_differ():
    grid = {
        "problem": "all",
        "level": [1, 2, 3],
        "method": ["ucb", "ts"],
        "common_shift": [0.0, 0.3],
        "noise": [0.1, 0.01],
        "settings": {"num_raw": [50, 100, 200]},
    }
    rows = plan_rows(study(grid=[grid]))
    assert len({row.key for row in rows}) == len(rows) == 12 * 3 * 2 * 2 * 2 * 3 * 2


AXIS = GRID | {"settings": {"num_paths": [100, 500]}}
"""An axis of which ucb has no use."""


def test_a_setting_without_effect_makes_no_other_run():
    rows = plan_rows(study(grid=[AXIS], repetitions=1))
    told = [(r.spec["problem"], r.spec["method"], r.spec["settings"]) for r in rows]
    for problem in GRID["problem"]:
        found = [words[1:] for words in told if words[0] == problem]
        assert found == [
            ("ucb", {}),
            ("guide-ucb", {"num_paths": 100}),
            ("guide-ucb", {}),
        ]
    plain = {row.key for row in plan_rows(study())}
    assert {row.key for row in rows if row.spec["method"] == "ucb"} < plain


def test_a_setting_without_effect_is_named():
    variants = {"bold": {"method": "ucb", "settings": {"max_strength": 2.0}}}
    grids = [AXIS, {"problem": "ackley", "variant": "bold"}]
    described = study(grid=grids, variants=variants)
    rows = plan_rows(described)
    unused = unused_settings(described, rows)
    assert unused == {"max_strength": ("ucb",), "num_paths": ("ucb",)}
    guides = plan_rows(described, where=["method=guide-ucb"])
    assert unused_settings(described, guides) == {}


def test_a_wrong_value_is_refused():
    with pytest.raises(SettingsError, match="num_paths must be a whole number"):
        plan_rows(study(grid=[GRID | {"settings": {"num_paths": [100, 0]}}]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_paths": 100}, "no setting of the study's methods 'num_paths'"),
        ({"bta": 4}, "Did you mean 'beta'"),
        ({"mode": "as-run"}, "no setting of the study's methods 'mode'"),
    ],
)
def test_a_setting_that_no_method_has_is_refused(settings, message):
    with pytest.raises(SettingsError, match=message):
        plan_rows(study(grid=[GRID | {"method": "ucb", "settings": settings}]))


def test_a_setting_of_a_variant_is_one_of_the_study():
    variants = {"bold": {"method": "guide-ucb", "settings": {"max_strength": 2.0}}}
    grids = [GRID | {"method": "ucb"}, {"problem": "ackley", "variant": "bold"}]
    plan_rows(study(grid=grids, variants=variants))
    variants["bold"]["method"] = "ucb"
    with pytest.raises(SettingsError, match="'max_strength'"):
        plan_rows(study(grid=grids, variants=variants))


def test_a_condition_keeps_methods_it_does_not_concern():
    rows = plan_rows(study(grid=[AXIS], repetitions=1), where=["num_paths=100"])
    told = {(r.spec["method"], r.spec["settings"].get("num_paths")) for r in rows}
    assert told == {("ucb", None), ("guide-ucb", 100)}
    with pytest.raises(SettingsError, match="There is 100, 500"):
        plan_rows(study(grid=[AXIS]), where=["num_paths=300"])


def test_a_variant_sets_method_and_settings():
    rows = plan_rows(
        study(
            grid=[{"problem": "ackley", "variant": ["bold", "plain"]}],
            variants={
                "bold": {"method": "guide-ucb", "settings": {"max_strength": 2.0}},
                "plain": {"method": "ucb"},
            },
            repetitions=1,
        )
    )
    assert [(r.variant, r.spec["method"], r.spec["settings"]) for r in rows] == [
        ("bold", "guide-ucb", {"max_strength": 2.0}),
        ("plain", "ucb", {}),
    ]


def test_where_narrows_and_repetitions_widen():
    rows = plan_rows(study(), repetitions=5, where=["method=ucb", "seed=0,4"])
    assert {(r.spec["method"], r.spec["seed"]) for r in rows} == {
        ("ucb", 0),
        ("ucb", 4),
    }


def test_numbers_in_a_condition_are_numbers():
    grid = GRID | {"noise": [0.1, 0.01], "settings": {"beta": [1, 4]}}
    rows = plan_rows(study(grid=[grid]), where=["noise=1e-2", "beta=4.0"])
    assert {row.spec["noise"] for row in rows} == {0.01}
    assert all(row.spec["settings"] == {} for row in rows)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("method", "key=a,b"),
        ("method=", "key=a,b"),
        ("method=ubc", "There is guide-ucb, ucb"),
        ("metod=ucb", "Did you mean 'method'"),
        ("level=2", "There is 1"),
        ("__class__=1", "There is no field"),
    ],
)
def test_a_wrong_condition_is_refused_with_what_there_is(condition, message):
    with pytest.raises(SettingsError, match=message):
        plan_rows(study(), where=[condition])


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({}, r"at least one \[\[grid\]\]"),
        ({"grid": [{"problm": "ackley"}]}, "Did you mean 'problem'"),
        ({"grid": [{"seed": 3}]}, "repetitions"),
        ({"grid": [{"problem": []}]}, "no value"),
        ({"grid": [{"settings": 4}]}, "as a table"),
        ({"grid": [{"variant": "bald"}], "variants": {"bold": {}}}, "'bold'"),
        ({"grid": [GRID], "repetitions": 0}, "at least 1"),
        ({"grid": [GRID], "sections": ["rank"]}, "'ranks'"),
        ({"grid": [GRID], "name": "../x"}, "names a folder"),
        ({"grid": [GRID], "measure": "speed"}, "measure"),
        ({"grid": [GRID], "grids": []}, "Did you mean 'grid'"),
        ({"grid": 3}, "at least one"),
        ({"grid": [3]}, "table of fields"),
        ({"grid": [GRID], "title": 3}, "must be a text"),
        ({"grid": [GRID | {"settings": {"beta": []}}]}, "no value for beta"),
        ({"grid": [GRID | {"name": ["a"]}]}, "name of a grid"),
        ({"grid": [GRID | {"name": 3}]}, "name of a grid"),
        ({"grid": [{"variant": [["bold"]]}], "variants": {"bold": {}}}, "text or a"),
        ({"grid": [GRID], "variants": {"x": {"noise": float("nan")}}}, "finite"),
        ({"grid": [GRID], "variants": {"x": {"noise": {}}}}, "finite"),
        (
            {
                "grid": [{"variant": "x", "method": ["ucb"], "settings": {"beta": 1}}],
                "variants": {"x": {"method": "nei", "settings": {"beta": 2}}},
            },
            r"'x' says method, settings\.beta, and so does its \[\[grid\]\]",
        ),
    ],
)
def test_a_malformed_study_is_refused(form, message):
    with pytest.raises(SettingsError, match=message):
        parse_study(form)


def test_a_wrong_value_of_a_run_is_refused_when_planned():
    with pytest.raises(SettingsError, match="level"):
        plan_rows(study(grid=[GRID | {"level": 9}]))
    with pytest.raises(SettingsError, match="guide-ucb"):
        plan_rows(study(grid=[GRID | {"method": "guide-ubc"}]))


def test_files_are_refused_with_their_name(tmp_path):
    broken = tmp_path / "broken.toml"
    broken.write_text("name = ")
    with pytest.raises(SettingsError, match=r"broken\.toml is no TOML"):
        load_study(str(broken))
    with pytest.raises(SettingsError, match="Cannot read"):
        load_study(str(tmp_path / "absent.toml"))
    with pytest.raises(SettingsError, match="Did you mean 'quick'"):
        load_study("quik")


def test_former_and_new_rows_stand_in_the_order_of_the_study():
    full = plan_rows(study(), repetitions=3)
    first = plan_rows(study(), where=["method=guide-ucb"])
    second = plan_rows(study(), repetitions=3, where=["method=ucb"])
    merged = merge_rows(study(), first, second)
    assert set(merged_keys(merged)) == set(merged_keys(first) + merged_keys(second))
    order = merged_keys(full)
    assert merged_keys(merged) == sorted(merged_keys(merged), key=order.index)


def test_rows_the_study_no_longer_asks_for_are_kept():
    former = plan_rows(study(grid=[GRID | {"level": 3}]))
    merged = merge_rows(study(), former, plan_rows(study()))
    assert set(merged_keys(former)) < set(merged_keys(merged))


def merged_keys(rows):
    return [row.key for row in rows]


@given(st.permutations(["problem", "level", "method", "seed", "noise"]))
def test_a_key_does_not_depend_on_the_order_of_fields(order):
    spec = {"problem": "a", "level": 1, "method": "ucb", "seed": 0, "noise": 0.1}
    turned = {name: spec[name] for name in order}
    assert run_key(turned, {"a": "1", "b": "2"}) == run_key(spec, {"b": "2", "a": "1"})


def test_a_grid_may_have_fewer_repetitions():
    study = parse_study(
        {
            "repetitions": 3,
            "common": {"dim": 2},
            "grid": [
                {"method": ["ucb"]},
                {"method": ["nei"], "repetitions": 1},
            ],
        }
    )
    counted = Counter(row.spec["method"] for row in plan_rows(study))
    assert counted == {"ucb": 3, "nei": 1}
    few = Counter(row.spec["method"] for row in plan_rows(study, repetitions=1))
    assert few == {"ucb": 1, "nei": 1}


def test_plugins_beside_a_study_are_loaded(tmp_path):
    source = Path(__file__).with_name("plugin.py").read_text()
    (tmp_path / "beside.py").write_text(source)
    file = tmp_path / "mine.toml"
    file.write_text('plugins = ["beside.py"]\n[[grid]]\nmethod = ["ucb"]\n')
    study = load_study(str(file))
    assert [plugin.source for plugin in study.plugins] == [source]
    file.write_text('plugins = ["../beside.py"]\n[[grid]]\nmethod = ["ucb"]\n')
    with pytest.raises(SettingsError, match="beside the study"):
        load_study(str(file))
