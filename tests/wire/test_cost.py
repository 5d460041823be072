"""The size of a message: numbers are counted wherever they stand."""

import json

import pytest

from guidefbo.wire.cost import Cost


@pytest.mark.parametrize(
    ("body", "scalars"),
    [
        ([], 0),
        ([1, 2.5, -3e9], 3),
        ([1, True, 2.0], 2),
        ([1.0, None, "2", [3, 4]], 3),
        ([[1.0, 2.0], [3.0, 4.0]], 4),
        ({"a": 1, "b": {"c": [1.0, False], "d": "text"}, "e": []}, 2),
    ],
)
def test_numbers_are_counted_and_nothing_else(body, scalars):
    data = json.dumps({"kind": "any", "body": body, "round": 7}).encode()
    assert Cost.of(data) == Cost(scalars=scalars, num_bytes=len(data))
