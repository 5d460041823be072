"""Federated Bayesian optimisation without showing anybody an observation.

    import guidefbo as gf

    trace = gf.simulate("ackley", level=2, method="guide-ucb", seed=0)
    result = gf.optimize([f1, f2, f3], gf.Space(dose=gf.Float(0, 1)), goal="min")

Names are loaded when first used, so that importing the package is cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from guidefbo.core.errors import FedBOError as FedBOError
    from guidefbo.core.space import Float as Float
    from guidefbo.core.space import Space as Space
    from guidefbo.simulation.optimize import optimize as optimize
    from guidefbo.simulation.simulate import simulate as simulate

__version__ = "0.1.0"

_HOMES = {
    "FedBOError": "guidefbo.core.errors",
    "Float": "guidefbo.core.space",
    "Space": "guidefbo.core.space",
    "optimize": "guidefbo.simulation.optimize",
    "simulate": "guidefbo.simulation.simulate",
}
__all__ = ["FedBOError", "Float", "Space", "__version__", "optimize", "simulate"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'guidefbo' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
