"""Schemathesis against the real service, from the published description alone.

What it makes of docs/openapi.json is another reader's view of it: data that fit, data
that do not, and what every answer must then be. GUIDEFBO_CASES says how many requests
there are in all.
"""

import json
import os
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)
from tests.coordinator.running import serving
from tests.coordinator.world import World

CASES = int(os.environ.get("GUIDEFBO_CASES", "900"))
FORM = json.loads((Path(__file__).parents[2] / "docs" / "openapi.json").read_text())
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    unsupported_method,
]
OPEN = ("/api/v1/federations/{federation}", "/healthz", "/metrics")
"""What is answered to everybody."""


@pytest.mark.slow
def test_what_schemathesis_makes_of_the_description(tmp_path, record_property):
    world = World(str(tmp_path / "guidefbo.db"))
    world.close()
    schema = schemathesis.openapi.from_dict(FORM)
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) == sum(map(len, FORM["paths"].values()))
    statuses = set()
    options = ("--rate-site", "0", "--rate-address", "0", "--timeout", "60")
    with serving(world.address, *options) as service:
        for operation in operations:
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                statuses |= _try(operation, mode, service, CASES)
        assert service.process.poll() is None
    assert {200, 400, 404} <= statuses
    record_property("cases", CASES)


def _try(operation, mode, service, num_cases):
    """Send what it makes for one route, and return the statuses that came back."""
    found = set()
    share = max(num_cases // (2 * sum(map(len, FORM["paths"].values()))), 1)

    @settings(
        max_examples=share,
        deadline=None,
        database=None,
        derandomize="GUIDEFBO_CASES" not in os.environ,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), is_ours=st.booleans())
    def check(case, is_ours):
        if is_ours and case.path_parameters:
            case.path_parameters["federation"] = "reaction"
        got = case.call(base_url=service.url)
        case.validate_response(got, checks=CHECKS)
        found.add(got.status_code)
        if got.status_code < 300:
            assert operation.path in OPEN, case

    has_parts = bool(operation.body) or any(True for _ in operation.iter_parameters())
    if mode is GenerationMode.POSITIVE or has_parts:
        check()
    # Else nothing can be wrong in a request.
    return found
