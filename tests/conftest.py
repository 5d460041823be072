"""Shape checks over the whole package, and reproducible property tests.

Every function of `guidefbo` that names array shapes is checked while the suite runs:
a (2, 1) against (3,) broadcast fails where it happens. Only array annotations are
kept; the other types are the static checker's business, and leaving them out lets the
tests hand wrong types to the doors that must refuse them with a sentence.
"""

import inspect
import os
import signal
import typing

import numpy as np
from beartype import BeartypeConf, beartype
from hypothesis import HealthCheck, settings
from jaxtyping import AbstractArray, install_import_hook

# A suite started in the background ignores Ctrl-C, and so would the programs it starts
# in order to interrupt them.
signal.signal(signal.SIGINT, signal.default_int_handler)


def _names_an_array(hint):
    origin = typing.get_origin(hint)
    if origin is np.ndarray:
        return True
    if inspect.isclass(hint) and issubclass(hint, AbstractArray):
        return True
    return any(map(_names_an_array, typing.get_args(hint)))


def check_arrays(function):
    """Check the annotations of a function that speak of arrays, and no others."""
    hints = function.__annotations__
    kept = {name: hint for name, hint in hints.items() if _names_an_array(hint)}
    if not kept:
        return function
    function.__annotations__ = kept
    return beartype(function, conf=BeartypeConf(is_pep484_tower=True))


# No test opens a window; subprocesses inherit this.
os.environ["MPLBACKEND"] = "Agg"
# Subprocesses use one BLAS thread, as the package itself does.
os.environ["OMP_NUM_THREADS"] = "1"

# The hook evaluates this text; the module is looked up when the first check is made.
install_import_hook("guidefbo", f"sys.modules[{__name__!r}].check_arrays")

# A fixed sequence of examples: the same commit gives the same verdict everywhere. A
# busy machine is slow to generate them, which is no property of the code.
settings.register_profile(
    "suite",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("suite")
