"""Names of sites, federations and strategies."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from guidefbo.core.errors import SettingsError
from guidefbo.core.names import NAME_RULE, is_name, require_name, to_name

GOOD = ["a", "7", "north-2", "Lab.7", "fts-de-as-run", "A_b", "x" * 64, "0-._"]
BAD = [
    "",
    "x" * 65,
    "a b",
    " a",
    "a ",
    "a\n",
    "\na",
    "a\x00",
    "a\x1b[31m",
    "a\x7f",
    "a\u202eb",
    "-a",
    ".a",
    "..",
    "_a",
    "a/b",
    "a\\b",
    "a:b",
    "é",
    "７",
    "a\ud800",
    None,
    7,
    True,
    b"a",
    ["a"],
]


@pytest.mark.parametrize("name", GOOD)
def test_names(name):
    assert is_name(name)
    assert require_name("site", name) is name


@pytest.mark.parametrize("value", BAD, ids=ascii)
def test_what_is_no_name_is_refused(value):
    assert not is_name(value)
    with pytest.raises(SettingsError, match=f"^site must be {re.escape(NAME_RULE)}"):
        require_name("site", value)


@pytest.mark.parametrize("value", ["a\x1b[31m" * 20_000, ["a"] * 20_000, "x" * 10**6])
def test_a_refusal_is_short_and_plain(value):
    with pytest.raises(SettingsError) as caught:
        require_name("site", value)
    text = str(caught.value)
    assert len(text) < 300
    assert text.isprintable()


@given(st.text())
@example("\n")
@example("x" * 63 + "-y")
@example("." * 70 + "x" * 70)
def test_every_text_has_a_name_near_it(text):
    name = to_name(text)
    assert is_name(name)
    assert to_name(name) in (name, name.rstrip("._-"))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("north", "north"),
        ("Lab no. 7", "Lab-no.-7"),
        ("  spaced  out  ", "spaced-out"),
        ("../../etc/passwd", "etc-passwd"),
        ("Zürich", "Z-rich"),
        ("研究室", "site"),
        ("", "site"),
        ("---", "site"),
        ("x" * 100, "x" * 64),
    ],
)
def test_names_near_texts(text, name):
    assert to_name(text) == name


@given(st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?", fullmatch=True))
def test_a_name_is_nearest_to_itself(name):
    assert is_name(name)
    assert to_name(name) == name
