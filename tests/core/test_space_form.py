import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import printable

from guidefbo.core.errors import SpaceError
from guidefbo.core.space.constraints import AtMost, SumTo
from guidefbo.core.space.form import space_from_form, space_to_form
from guidefbo.core.space.parameters import Bool, Choice, Float, Int
from guidefbo.core.space.space import FORBIDDEN, Space


@st.composite
def floats(draw):
    log = draw(st.booleans())
    low = draw(st.floats(1e-9, 1e9) if log else st.floats(-1e9, 1e9))
    return Float(low, low + draw(st.floats(1e-2, 1e9)), log=log)


@st.composite
def ints(draw):
    log = draw(st.booleans())
    low = draw(st.integers(1 if log else -(10**6), 10**6))
    return Int(low, low + draw(st.integers(1, 10**6)), log=log)


names = st.text(printable, min_size=1, max_size=5).filter(
    lambda name: name == name.strip() and not set(name) & FORBIDDEN
)
options = (
    st.text(printable, max_size=4)
    | st.integers(-9, 9)
    | st.floats(-9, 9)
    | st.booleans()
)
choices = st.lists(options, min_size=2, max_size=5, unique=True).map(
    lambda given: Choice(*given)
)
parameters = floats() | ints() | choices | st.just(Bool())


@st.composite
def spaces(draw):
    named = draw(st.dictionaries(names, parameters, min_size=1))
    space = Space(**named)
    linear = [n for n, p in named.items() if isinstance(p, Float) and not p.log]
    if not linear or not draw(st.booleans()):
        return space
    # Constraints that the middle of the box keeps.
    middle = {n: (named[n].low + named[n].high) / 2 for n in linear}
    limits = []
    for name in linear:
        weights = {name: draw(st.sampled_from([-2.0, -0.5, 1.0, 3.0]))}
        bound = weights[name] * middle[name] + abs(middle[name]) + 1.0
        limits.append(AtMost(weights, bound))
    if len(linear) > 1:
        limits.append(SumTo(sum(middle.values()), *linear))
    return space.subject_to(*limits)


@given(spaces())
def test_space_to_form_and_back(space):
    form = space_to_form(space)
    assert space_from_form(form) == space
    text = json.dumps(form, allow_nan=False)
    again = space_from_form(json.loads(text))
    assert again == space
    assert list(again.parameters) == list(space.parameters)
    assert json.dumps(space_to_form(again)) == text
    for name, parameter in space.parameters.items():
        if isinstance(parameter, Choice):
            kinds = [type(option) for option in again.parameters[name].options]
            assert kinds == [type(option) for option in parameter.options]


TEXT = """
[parameters.dose]
type = "float"
low = 0.1
high = 10
log = true

[parameters.water]
type = "float"
low = 0
high = 1

[parameters.oil]
type = "float"
low = 0
high = 1

[parameters.n]
type = "int"
low = 1
high = 9

[parameters.drug]
type = "choice"
options = ["a", 2, 2.5, false]

[parameters.warm]
type = "bool"

[[constraints]]
at_most = 1.5
coefficients = { water = 1, oil = 2 }

[[constraints]]
sum_to = 1.0
of = ["water", "oil"]
"""


def test_toml_by_hand():
    assert space_from_form(tomllib.loads(TEXT)) == Space(
        dose=Float(0.1, 10, log=True),
        water=Float(0, 1),
        oil=Float(0, 1),
        n=Int(1, 9),
        drug=Choice("a", 2, 2.5, False),
        warm=Bool(),
    ).subject_to(AtMost({"water": 1, "oil": 2}, 1.5), SumTo(1.0, "water", "oil"))


def test_form_by_hand():
    space = Space(x=Float(0, 1), c=Choice("a", 1)).subject_to(AtMost({"x": 2}, 1.5))
    assert space_to_form(space) == {
        "parameters": {
            "x": {"type": "float", "low": 0, "high": 1, "log": False},
            "c": {"type": "choice", "options": ["a", 1]},
        },
        "constraints": [{"at_most": 1.5, "coefficients": {"x": 2.0}}],
    }
    assert "constraints" not in space_to_form(Space(b=Bool()))


@pytest.mark.parametrize(
    "name", ["self", "parameters", "cls", "x y", "ä", "0", "a.b", "100 %"]
)
def test_parameter_may_have_any_name(name):
    form = {"parameters": {name: {"type": "bool"}}}
    space = space_from_form(form)
    assert list(space.parameters) == [name]
    assert space_to_form(space) == form


FLOAT = {"type": "float", "low": 0, "high": 1}


def with_parameter(form):
    return {"parameters": {"dose": form}}


def with_constraint(form):
    return {"parameters": {"a": FLOAT, "b": FLOAT}, "constraints": [form]}


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        (None, "Expected a space as a table, got None"),
        ([], "Expected a space as a table"),
        ("x", "Expected a space as a table"),
        ({}, r"missing \['parameters'\]"),
        ({"parameters": {}}, "a table .* for every parameter"),
        ({"parameters": []}, "a table .* for every parameter"),
        ({"parameters": None}, "a table .* for every parameter"),
        ({"parameters": {"a": FLOAT}, "limits": []}, r"unknown \['limits'\]"),
        ({"parameters": {"a": FLOAT}, "constraints": {}}, "must be a list of tables"),
        ({"parameters": {"a": FLOAT}, "constraints": None}, "must be a list of tables"),
        (with_parameter(None), "Parameter dose: expected a type, one of float, int"),
        (with_parameter("float"), "Parameter dose: expected a type"),
        (with_parameter({}), "Parameter dose: expected a type"),
        (with_parameter({"type": "real"}), "Parameter dose: expected a type"),
        (with_parameter({"type": ["float"]}), "Parameter dose: expected a type"),
        (with_parameter({"type": "float", "low": 0}), r"dose: .*missing \['high'\]"),
        (with_parameter({**FLOAT, "steps": 1}), r"dose: .*unknown \['steps'\]"),
        (with_parameter({**FLOAT, "low": 2}), "dose: Float needs finite bounds"),
        (with_parameter({**FLOAT, "log": True}), "dose: A logarithmic Float needs"),
        (with_parameter({**FLOAT, "log": "yes"}), "dose: log must be True or False"),
        (with_parameter({**FLOAT, "log": None}), "dose: log must be True or False"),
        (
            with_parameter({"type": "int", "low": 0.5, "high": 2}),
            "dose: Int needs whole bounds",
        ),
        (with_parameter({"type": "bool", "low": 0}), r"dose: .*unknown \['low'\]"),
        (with_parameter({"type": "choice"}), r"dose: .*missing \['options'\]"),
        (
            with_parameter({"type": "choice", "options": "ab"}),
            "dose: options must be a list, got 'ab'",
        ),
        (with_parameter({"type": "choice", "options": ["a"]}), "dose: Choice needs"),
        (
            with_parameter({"type": "choice", "options": ["a", ["b"]]}),
            "dose: An option must be",
        ),
        (with_constraint(None), "Expected a constraint as a table"),
        (with_constraint({}), r"missing \['at_most', 'coefficients'\]"),
        (with_constraint({"sum_to": 1}), r"missing \['of'\]"),
        (with_constraint({"sum_to": 1, "of": "ab"}), "of must be a list of names"),
        (with_constraint({"sum_to": 1, "of": ["a"]}), "at least two different names"),
        (with_constraint({"sum_to": 1, "of": ["a", 1]}), "at least two different"),
        (with_constraint({"sum_to": 1, "of": [["a"], ["b"]]}), "different names"),
        (with_constraint({"sum_to": "1", "of": ["a", "b"]}), "SumTo: expected a"),
        (with_constraint({"sum_to": 9, "of": ["a", "b"]}), "No values satisfy"),
        (with_constraint({"sum_to": 1, "of": ["a", "z"]}), "'z' is no parameter"),
        (
            with_constraint({"sum_to": 1, "of": ["a", "b"], "at_most": 1}),
            r"unknown \['at_most'\]",
        ),
        (
            with_constraint({"at_most": 1, "coefficients": ["a"]}),
            "coefficients by parameter",
        ),
        (
            with_constraint({"at_most": None, "coefficients": {"a": 1}}),
            "the bound: expected a finite number",
        ),
        (
            with_constraint({"at_most": 1, "coefficients": {"a": 1}, "x": 0}),
            r"unknown \['x'\]",
        ),
    ],
    ids=lambda part: str(part)[:40],
)
def test_each_mistake_is_named(form, sentence):
    with pytest.raises(SpaceError, match=sentence):
        space_from_form(form)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("type", "low", "high", "log", "options", "of", "sum_to"),
                    *("at_most", "coefficients", "parameters", "constraints", "a"),
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(plain, plain)
def test_any_plain_data_is_a_space_or_refused(parameters, constraints):
    forms = [
        parameters,
        {"parameters": parameters, "constraints": constraints},
        {"parameters": {"a": parameters, "b": FLOAT}, "constraints": [constraints]},
    ]
    for form in forms:
        try:
            space = space_from_form(form)
        except SpaceError:
            continue
        assert space_from_form(space_to_form(space)) == space
