"""`--change`: another value in every run of a study."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guidefbo.core.errors import SettingsError
from guidefbo.experiments.change import FIELDS, change_study
from guidefbo.experiments.plan import plan_rows
from guidefbo.experiments.study import load_study, parse_study

FORM = {
    "name": "s",
    "repetitions": 1,
    "common": {"problem": "sphere", "num_rounds": 5, "settings": {"beta": 3}},
    "grid": [
        {"method": ["ucb", "guide-ucb"], "level": [1, 2], "num_rounds": 7},
        {"variant": ["bold", "plain"], "level": 3},
    ],
    "variants": {
        "bold": {
            "method": "guide-ucb",
            "num_rounds": 9,
            "settings": {"max_strength": 2.0, "beta": 1},
        },
        "plain": {"method": "ucb"},
    },
}


def specs(*changes, **options):
    changed = change_study(parse_study(FORM), changes)
    return [row.spec for row in plan_rows(changed, **options)]


def test_every_run_gets_the_value():
    assert {spec["num_rounds"] for spec in specs()} == {7, 9, 5}
    changed = specs("num_rounds=2")
    assert {spec["num_rounds"] for spec in changed} == {2}
    # And nothing else is another.
    for spec, former in zip(changed, specs(), strict=True):
        assert {**spec, "num_rounds": former["num_rounds"]} == former


@pytest.mark.parametrize("key", ["beta", "settings.beta", " beta "])
def test_every_run_gets_the_setting(key):
    assert {spec["settings"]["beta"] for spec in specs()} == {3.0, 1.0}
    changed = specs(f"{key}=2")
    assert {spec["settings"]["beta"] for spec in changed} == {2.0}
    assert [s["settings"].get("max_strength") for s in changed].count(2.0) == 1


def test_several_values_make_an_axis_also_of_variants():
    changed = specs("num_rounds=2,3", "settings.beta=1,2,6")
    assert len(changed) == 6 * len(specs())
    told = {(s["num_rounds"], s["settings"]["beta"]) for s in changed}
    assert told == {(t, b) for t in (2, 3) for b in (1.0, 2.0, 6.0)}


def test_a_change_of_method_brings_its_settings():
    with pytest.raises(SettingsError, match="'lie'"):
        specs("lie=corner")
    changed = specs("lie=corner", "method=consensus-ucb")
    assert {(s["method"], s["settings"]["lie"]) for s in changed} == {
        ("consensus-ucb", "corner")
    }


def test_conditions_are_about_the_runs_as_changed():
    assert specs("level=1,3", "noise=0.5", where=["level=3", "noise=0.5"])
    with pytest.raises(SettingsError, match="There is 1"):
        specs("level=1", where=["level=2"])


def test_the_study_remembers_what_it_was():
    written = parse_study(FORM)
    changed = change_study(written, ["settings.beta = 2, 4", "level=1"])
    assert changed.definition == written.definition
    assert changed.changes == ("beta=2,4", "level=1")
    # What is recorded makes the same runs again, and a second change adds up.
    again = change_study(written, changed.changes)
    assert plan_rows(again) == plan_rows(changed)
    further = change_study(changed, ["num_rounds=1"])
    assert further.changes == ("beta=2,4", "level=1", "num_rounds=1")
    assert written.changes == ()


@given(st.sets(st.sampled_from(["num_rounds=1", "dim=3", "noise=0.2", "beta=9"])))
def test_the_order_of_changes_does_not_matter(changes):
    one, other = sorted(changes), sorted(changes, reverse=True)
    assert specs(*one) == specs(*other)


def test_a_shipped_study_shrinks():
    small = change_study(load_study("main"), ["problem=ackley", "num_rounds=3"])
    rows = plan_rows(small, repetitions=1)
    assert len(rows) == 12 * 3
    assert {(r.spec["problem"], r.spec["num_rounds"]) for r in rows} == {("ackley", 3)}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["num_rounds"], "key=value"),
        (["num_rounds="], "key=value"),
        (["num_rounds=1,,2"], "key=value"),
        (["=3"], "key=value"),
        (["num_round=3"], "Did you mean 'num_rounds'"),
        (["bta=3"], "Did you mean 'beta'"),
        (["nothing=3"], "There is no field or setting of the study 'nothing'"),
        (["noise=nan"], "finite number for noise"),
        (["beta=inf"], "finite number for beta"),
        (["level=1", "level=2"], "given twice. Write level=a,b"),
        (["beta=1", "settings.beta=2"], "given twice"),
        (["seed=3"], "Say --repetitions"),
        (["repetitions=3"], "Say --repetitions"),
        (["first_seed=3"], "in the study's file"),
        (["variant=bold"], "--where variant="),
        (["settings=3"], "settings.beta=2"),
    ],
)
def test_a_wrong_change_is_refused(changes, message):
    with pytest.raises(SettingsError, match=message):
        specs(*changes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("level=9", "level must be 1, 2 or 3"),
        ("num_rounds=2.5", "num_rounds must be a whole number"),
        ("method=ubc", "Did you mean 'ucb'"),
        ("num_paths=0", "num_paths must be a whole number"),
        ("method=nei", "no setting of the study's methods 'beta'"),
    ],
)
def test_a_value_that_no_run_can_have_is_refused(change, message):
    with pytest.raises(SettingsError, match=message):
        specs(change)


def test_every_field_of_a_run_can_be_changed():
    values = {
        "problem": "ackley",
        "noise_units": "raw",
        "method": "guide-ucb",
        "common_shift": 0.25,
        "level": 3,
    }
    for field in FIELDS:
        value = values.get(field, 4)
        assert {spec[field] for spec in specs(f"{field}={value}")} == {value}
