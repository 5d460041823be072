"""Parts of NumPy that a command never uses are loaded when they are first used.

SciPy asks NumPy for everything it has, which loads the Fortran compiler's helper and
the tools for tests: a fifth of the time in which SciPy itself is loaded.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

SPARED = ("f2py", "testing")
"""Modules of NumPy that SciPy's optimisers and linear algebra do not need."""


class Later(ModuleType):
    """Stands for a module until something of it is used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(import_module(self.__name__), name)


def spare_numpy() -> None:
    """Put something in the place of modules that are not loaded yet.

    To import one of them works as ever, and puts the module in its place.
    """
    for name in SPARED:
        if f"numpy.{name}" not in sys.modules:
            setattr(np, name, Later(f"numpy.{name}"))
