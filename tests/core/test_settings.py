"""Settings of a part: declared with limits, checked one by one, made into a type."""

from dataclasses import FrozenInstanceError, dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guidefbo.core.errors import SettingsError, UnknownNameError
from guidefbo.core.settings import (
    MANY,
    Setting,
    check_settings,
    count,
    make,
    parse_settings,
    part,
    real,
    settings_of,
)

MERGINGS = {"all": max, "none": min}


@dataclass(frozen=True, slots=True, kw_only=True)
class Some:
    """Settings of every kind."""

    size: int = count(5, "how many", high=100)
    depth: int = count(0, "how deep, 0 = dim", low=0)
    beta: float = real(4.0, "mean + sqrt(beta) std")
    share: float = real(0.5, "of agents", high=1.0)
    merging: str = part("all", "how components are clustered", MERGINGS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Others:
    """Settings of another part, one of them the same."""

    size: int = count(5, "how many there are", high=100)
    rate: float = real(1, "a rate")


KNOWN = settings_of(Some)


def test_what_is_known_of_a_setting():
    assert {
        "size": Setting(name="size", default=5, text="how many", low=1, high=100),
        "depth": Setting(name="depth", default=0, text="how deep, 0 = dim"),
        "beta": Setting(name="beta", default=4.0, text="mean + sqrt(beta) std"),
        "share": Setting(name="share", default=0.5, text="of agents", high=1.0),
        "merging": Setting(
            name="merging",
            default="all",
            text="how components are clustered",
            names=("all", "none"),
        ),
    } == KNOWN
    assert Setting(name="x", default=1, text="").high == MANY
    assert list(KNOWN) == ["size", "depth", "beta", "share", "merging"]
    assert settings_of() == {}


def test_defaults_are_of_the_kind_that_was_declared():
    """A real number may be written without a point, and stays a real number."""
    rate = settings_of(Others)["rate"]
    assert type(rate.default) is float
    assert rate.check(0.25) == 0.25
    assert type(rate.check(2)) is float
    assert type(Others().rate) is float


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("size", 1, 1),
        ("size", 100, 100),
        ("size", 7.0, 7),
        ("size", np.int64(7), 7),
        ("depth", 0, 0),
        ("depth", MANY, MANY),
        ("beta", 0, 0.0),
        ("beta", 3, 3.0),
        ("beta", np.float64(0.5), 0.5),
        ("share", 1, 1.0),
        ("merging", "none", "none"),
    ],
)
def test_values_that_are_taken(name, value, expected):
    found = KNOWN[name].check(value)
    assert found == expected
    assert type(found) is type(expected)
    assert getattr(make(Some, {name: value}), name) == expected


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("size", 0, "a whole number from 1 to 100, got 0"),
        ("size", 101, "a whole number from 1 to 100, got 101"),
        ("size", 2.5, "a whole number from 1 to 100, got 2.5"),
        ("size", "3", "a whole number from 1 to 100, got '3'"),
        ("size", True, "a whole number from 1 to 100, got True"),
        ("size", None, "a whole number from 1 to 100, got None"),
        ("size", [3], r"a whole number from 1 to 100, got \[3\]"),
        ("size", float("inf"), "a whole number .* got inf"),
        ("depth", -1, "a whole number from 0 to 1e\\+06, got -1"),
        ("depth", 10**400, "a whole number from 0"),
        ("beta", -0.1, "a finite number from 0 to 1e\\+06, got -0.1"),
        ("beta", float("nan"), "a finite number .* got nan"),
        ("beta", 2e6, "a finite number .* got 2000000"),
        ("beta", "4", "a finite number .* got '4'"),
        ("beta", False, "a finite number .* got False"),
        ("beta", 1j, "a finite number"),
        ("share", 1.1, "a finite number from 0 to 1, got 1.1"),
        ("merging", "al", "one of all, none, got 'al'"),
        ("merging", "", "one of all, none, got ''"),
        ("merging", 1, "one of all, none, got 1"),
        ("merging", None, "one of all, none, got None"),
        ("merging", ["all"], r"one of all, none, got \['all'\]"),
        ("merging", np.array(["all", "none"]), "one of all, none, got array"),
    ],
)
def test_values_that_are_refused(name, value, words):
    """By the setting, with others, and where its type is made."""
    words = f"Setting {name} must be {words}"
    with pytest.raises(SettingsError, match=words):
        KNOWN[name].check(value)
    with pytest.raises(SettingsError, match=words):
        check_settings({name: value}, KNOWN, "somebody")
    with pytest.raises(SettingsError, match=words):
        make(Some, {name: value})


def test_a_refusal_does_not_repeat_a_long_value():
    for name in KNOWN:
        with pytest.raises(SettingsError) as caught:
            KNOWN[name].check("x" * 100_000)
        assert len(str(caught.value)) < 200


@given(st.sampled_from(sorted(KNOWN)), st.integers() | st.floats() | st.text())
def test_a_value_is_taken_as_it_is_or_refused(name, value):
    setting = KNOWN[name]
    try:
        found = setting.check(value)
    except SettingsError:
        return
    assert type(found) is type(setting.default)
    assert found == value
    assert setting.check(found) == found


@pytest.mark.parametrize("name", KNOWN)
def test_defaults_are_values(name):
    assert KNOWN[name].check(KNOWN[name].default) == KNOWN[name].default


def test_types_that_share_a_setting_share_its_value():
    both = settings_of(Some, Others)
    assert list(both) == [*KNOWN, "rate"]
    given = {"size": 9, "rate": 0.5}
    assert make(Some, given) == Some(size=9)
    assert make(Others, given) == Others(size=9, rate=0.5)


@pytest.mark.parametrize(
    "other",
    [
        count(6, "how many", high=100),
        count(5, "how many", low=0, high=100),
        count(5, "how many"),
        real(5.5, "how many", high=100),
        part("all", "how many", MERGINGS),
    ],
    ids=["default", "low", "high", "kind", "names"],
)
def test_types_must_agree_on_what_they_share(other):
    @dataclass(frozen=True)
    class Different:
        size: object = other

    with pytest.raises(SettingsError, match="size is declared twice and not alike"):
        settings_of(Some, Different)
    with pytest.raises(SettingsError, match="Rename one of them in Different"):
        settings_of(Some, Different)


def test_a_count_and_a_real_number_are_not_alike():
    """Though five is five: what is made of 5.5 would differ."""

    @dataclass(frozen=True)
    class Different:
        size: float = real(5, "how many", low=1, high=100)

    with pytest.raises(SettingsError, match="declared twice and not alike"):
        settings_of(Some, Different)


@pytest.mark.parametrize("declared", [3, field(default=3)], ids=["plain", "field"])
def test_a_field_without_text_and_limits_is_refused(declared):
    @dataclass(frozen=True)
    class Careless:
        size: int = declared

    with pytest.raises(SettingsError, match=r"Field size .* with count, real or part"):
        settings_of(Careless)


@pytest.mark.parametrize("kind", [int, dict, object])
def test_a_type_that_is_no_dataclass_is_refused(kind):
    with pytest.raises(
        SettingsError, match=r"must be a dataclass, got .*" + kind.__name__
    ):
        settings_of(kind)


def test_settings_are_frozen():
    with pytest.raises(FrozenInstanceError):
        Some().size = 3


def test_an_unknown_setting_is_refused_with_the_nearest():
    with pytest.raises(UnknownNameError, match=r"setting of guide 'mergin'.*'merging'"):
        check_settings({"size": 3, "mergin": "all"}, KNOWN, "guide")
    with pytest.raises(UnknownNameError) as caught:
        check_settings({"zzz": 1}, KNOWN, "guide")
    assert "Known settings of guide: beta, depth, merging, share, size." in str(
        caught.value
    )
    with pytest.raises(UnknownNameError, match="setting of guide 7"):
        check_settings({7: 1}, KNOWN, "guide")


def test_checked_settings_are_those_that_were_given():
    given = {"size": 3.0, "beta": 2}
    checked = check_settings(given, KNOWN, "guide")
    assert checked == {"size": 3, "beta": 2.0}
    assert [type(value) for value in checked.values()] == [int, float]
    assert given == {"size": 3.0, "beta": 2}
    assert check_settings({}, KNOWN, "guide") == {}


@pytest.mark.parametrize(
    ("pairs", "given"),
    [
        ([], {}),
        (["beta=4"], {"beta": 4}),
        (["beta=4.5", "merging=none"], {"beta": 4.5, "merging": "none"}),
        (["beta = 1e-3 "], {"beta": 0.001}),
        (["a=b=c"], {"a": "b=c"}),
        (["a="], {"a": ""}),
    ],
)
def test_settings_as_texts(pairs, given):
    found = parse_settings(pairs)
    assert found == given
    assert list(map(type, found.values())) == list(map(type, given.values()))


@pytest.mark.parametrize("pair", ["beta", "", "beta:4"])
def test_a_text_without_a_sign_of_equality_is_refused(pair):
    with pytest.raises(SettingsError, match=r"written key=value.*beta=4"):
        parse_settings([pair])


def test_numbers_that_are_none_are_refused_when_checked():
    for text in ("nan", "inf", "-inf", "1e999"):
        given = parse_settings([f"beta={text}"])
        with pytest.raises(SettingsError, match="beta must be a finite number"):
            check_settings(given, KNOWN, "guide")
