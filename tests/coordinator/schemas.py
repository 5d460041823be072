"""Values from the published JSON schemas, fitting and not, and what fits them.

The part of JSON schema that docs/openapi.json uses; anything else in it is an error.
"""

import json
import re
from pathlib import Path

from hypothesis import strategies as st

FORM = json.loads(
    (Path(__file__).parents[2] / "docs" / "openapi.json").read_text(encoding="utf-8")
)
SCHEMAS = FORM["components"]["schemas"]
SAID = {"title", "description", "contentEncoding", "format"}
"""Words for people."""
TYPES = {
    "null": lambda v: v is None,
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: type(v) is int,
    "string": lambda v: isinstance(v, str),
    "array": lambda v: isinstance(v, list),
    "object": lambda v: isinstance(v, dict),
}
anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**31, 2**63, 10**12 + 1, 10**400, -1, 0])
    | st.floats()
    | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=10), inner, max_size=4)
    ),
    max_leaves=8,
)
"""Any JSON value, and those that only Python writes: NaN, infinities."""


def resolved(schema):
    if "$ref" in schema:
        return SCHEMAS[schema["$ref"].rpartition("/")[2]]
    return schema


def _types(schema):
    found = schema["type"]
    return found if isinstance(found, list) else [found]


def fits(schema, value):
    """Whether a value is what a schema describes."""
    schema = resolved(schema)
    used = {"type", "enum", "pattern", "minimum", "maximum", "minLength", "maxLength"}
    used |= {"items", "minItems", "maxItems", "required", "properties"}
    assert schema.keys() <= used | SAID | {"additionalProperties"}, schema
    if not any(TYPES[name](value) for name in _types(schema)):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if isinstance(value, str):
        size = len(value)
        return (
            schema.get("minLength", 0) <= size <= schema.get("maxLength", size)
        ) and re.fullmatch(schema.get("pattern", r"[\s\S]*"), value) is not None
    if type(value) is int:
        return schema.get("minimum", value) <= value <= schema.get("maximum", value)
    if isinstance(value, list):
        size = len(value)
        return schema.get("minItems", 0) <= size <= schema.get(
            "maxItems", size
        ) and all(fits(schema.get("items", {}), item) for item in value)
    if isinstance(value, dict):
        inside = schema.get("properties", {})
        is_closed = schema.get("additionalProperties", True) is False
        return (
            set(schema.get("required", ())) <= value.keys()
            and (value.keys() <= inside.keys() or not is_closed)
            and all(fits(inside[k], v) for k, v in value.items() if k in inside)
        )
    return True


def fitting(schema):
    """Values that fit a schema."""
    schema = resolved(schema)
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    return st.one_of([_fitting(schema, name) for name in _types(schema)])


def _fitting(schema, name):
    if name == "null":
        return st.none()
    if name == "boolean":
        return st.booleans()
    if name == "integer":
        return st.integers(schema.get("minimum"), schema.get("maximum"))
    if name == "string" and "pattern" in schema:
        return st.from_regex(schema["pattern"], fullmatch=True)
    if name == "string":
        return st.text(
            min_size=schema.get("minLength", 0), max_size=schema.get("maxLength", 60)
        )
    if name == "array":
        return st.lists(
            fitting(schema["items"]),
            min_size=schema.get("minItems", 0),
            max_size=schema.get("maxItems", 4),
        )
    return st.fixed_dictionaries(
        {k: fitting(inner) for k, inner in schema.get("properties", {}).items()}
    )


@st.composite
def damaged(draw, form, most=2):
    """An object with a few fields missing, added or of another value."""
    form = dict(form)
    for _ in range(draw(st.integers(0, most))):
        name = draw(st.sampled_from(sorted(form)) | st.text(max_size=8))
        if draw(st.booleans()):
            form[name] = draw(anything)
        else:
            form.pop(name, None)
        if not form:
            break
    return form
