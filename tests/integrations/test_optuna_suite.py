"""Optuna's own suite for samplers, as its package ships it.

Its cases for several objectives are not for us: the sampler refuses such a study, which
`SingleOnlySamplerTestCase` tests.
"""

import os
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location

import optuna
import pytest

from guidefbo.integrations.optuna import FederatedSampler


def load_suite():
    """Return the installed suite, or the one in a file: old versions ship none."""
    file = os.environ.get("GUIDEFBO_OPTUNA_SUITE")
    if file is None:
        return import_module("optuna.testing.pytest_samplers")
    spec = spec_from_file_location("pytest_samplers", file)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


suite = load_suite()
# Some cases have more trials under way than points in their space: the agent says so.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Every point that was found:guidefbo.core.errors.FallbackWarning"
)


@pytest.fixture(autouse=True)
def quiet():
    optuna.logging.set_verbosity(optuna.logging.WARNING)


class TestFederatedSampler(
    suite.BasicSamplerTestCase,
    suite.RelativeSamplerTestCase,
    suite.SingleOnlySamplerTestCase,
):
    @pytest.fixture
    def sampler(self):
        return lambda: FederatedSampler(seed=0, initial=2)
