"""Shape checks over the whole package, and reproducible property tests.

Every function of `guidefbo` that names array shapes is checked while the suite runs:
a (2, 1) against (3,) broadcast fails where it happens. Only array annotations are
kept; the other types are the static checker's business, and leaving them out lets the
tests hand wrong types to the doors that must refuse them with a sentence.
"""

import os
import signal
import sys
import tempfile

import pytest
from hypothesis import HealthCheck, settings
from tests import shapes

# A suite started in the background ignores Ctrl-C, and so would the programs it starts
# in order to interrupt them.
signal.signal(signal.SIGINT, signal.default_int_handler)


# The package is compiled once, not by every program that the tests start.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# No test opens a window; subprocesses inherit this.
os.environ["MPLBACKEND"] = "Agg"
# Subprocesses use one BLAS thread, as the package itself does.
os.environ["OMP_NUM_THREADS"] = "1"

shapes.install("guidefbo")

# A fixed sequence of examples: the same commit gives the same verdict everywhere. A
# busy machine is slow to generate them, which is no property of the code.
settings.register_profile(
    "suite",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("suite")


def pytest_configure(config):
    """Keep what the package remembers, and its tests' programs too, out of the home.

    Between two runs of the suite it is kept beside what pytest remembers.
    """
    cache = getattr(config, "cache", None)
    made = tempfile.mkdtemp if cache is None else lambda: cache.mkdir("user")
    folder = str(made())
    os.environ["XDG_CACHE_HOME"] = os.environ["XDG_DATA_HOME"] = folder


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch):
    """What a test enters, a method or a problem of its own, is gone after it."""
    # Imported late: the shape checks are to see these modules too.
    from guidefbo.methods import registry
    from guidefbo.problems import library
    from guidefbo.server import registry as server_registry

    for module, name in (
        (registry, "_strategies"),
        (registry, "_rules"),
        (library, "_registered"),
        (server_registry, "_registered"),
    ):
        monkeypatch.setattr(module, name, dict(getattr(module, name)))
    yield
    for name in [name for name in sys.modules if name.startswith("guidefbo_plugin_")]:
        del sys.modules[name]
