"""The table of used settings says what building a method reads."""

from itertools import product

import numpy as np
import pytest

from guidefbo.core.streams import Streams
from guidefbo.methods.accounting import paper_scalars
from guidefbo.methods.catalog import METHODS
from guidefbo.methods.settings import Settings
from guidefbo.methods.uses import used_settings
from guidefbo.simulation.assemble import assemble, design_for
from guidefbo.simulation.liars import Liars
from guidefbo.simulation.spec import RunSpec


class Watched:
    """Settings that remember what was read."""

    def __init__(self, settings, read):
        self._settings, self._read = settings, read

    def __getattr__(self, name):
        self._read.add(name)
        return getattr(self._settings, name)


def observe(agent, X):
    return np.zeros(len(X))


def read_by(method, settings):
    """Return the settings that a federation of the method asks for."""
    read = set()
    watched, streams = Watched(settings, read), Streams(0)
    spec = RunSpec(method=method.name, dim=2, num_agents=2, num_initial=4)
    design = design_for(method, watched, spec, streams)
    assemble(method, watched, design, observe, noise_std=0.1, streams=streams)
    paper_scalars(method, watched, spec.dim)
    if method.strategy == "consensus":
        Liars.of(watched, spec)
    return read


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_method_reads_the_settings_it_is_said_to_use(method):
    read = set()
    for mode, privacy in product(("method", "as-run"), ("none", "gaussian")):
        read |= read_by(
            method, Settings(mode=mode, privacy=privacy, lie="drift", num_liars=1)
        )
    assert read == used_settings(method)
