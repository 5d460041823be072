"""Federated Bayesian optimisation without showing anybody an observation.

    import guidefbo as gf

    agent = gf.Agent(gf.Space(dose=gf.Float(0.1, 10)), goal="max")
    trial = agent.ask()
    agent.tell(trial, 0.83)
    trace = gf.simulate("ackley", level=2, method="guide-ucb", seed=0)
    result = gf.optimize([f1, f2, f3], gf.Space(dose=gf.Float(0, 1)), goal="min")

Names are loaded when first used, so that importing the package is cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from guidefbo.connect.link import connect as connect
    from guidefbo.core.errors import FedBOError as FedBOError
    from guidefbo.core.space.constraints import AtMost as AtMost
    from guidefbo.core.space.constraints import SumTo as SumTo
    from guidefbo.core.space.parameters import Bool as Bool
    from guidefbo.core.space.parameters import Choice as Choice
    from guidefbo.core.space.parameters import Float as Float
    from guidefbo.core.space.parameters import Int as Int
    from guidefbo.core.space.space import Space as Space
    from guidefbo.experiments.study_table import read_study as read_study
    from guidefbo.methods.plugins import register as register
    from guidefbo.methods.record import Method as Method
    from guidefbo.methods.record import Rule as Rule
    from guidefbo.methods.record import Strategy as Strategy
    from guidefbo.problems.own import Tasks as Tasks
    from guidefbo.problems.synthetic.function import (
        SyntheticFunction as SyntheticFunction,
    )
    from guidefbo.server.exchange import merge as merge
    from guidefbo.simulation.optimize import optimize as optimize
    from guidefbo.simulation.simulate import simulate as simulate
    from guidefbo.site.agent import Agent as Agent
    from guidefbo.site.outcome import Outcome as Outcome

__version__ = "0.1.0"

_HOMES = {
    "Agent": "guidefbo.site.agent",
    "AtMost": "guidefbo.core.space.constraints",
    "Bool": "guidefbo.core.space.parameters",
    "Choice": "guidefbo.core.space.parameters",
    "FedBOError": "guidefbo.core.errors",
    "Float": "guidefbo.core.space.parameters",
    "Int": "guidefbo.core.space.parameters",
    "Space": "guidefbo.core.space.space",
    "SumTo": "guidefbo.core.space.constraints",
    "SyntheticFunction": "guidefbo.problems.synthetic.function",
    "Method": "guidefbo.methods.record",
    "Outcome": "guidefbo.site.outcome",
    "Rule": "guidefbo.methods.record",
    "Strategy": "guidefbo.methods.record",
    "Tasks": "guidefbo.problems.own",
    "merge": "guidefbo.server.exchange",
    "optimize": "guidefbo.simulation.optimize",
    "read_study": "guidefbo.experiments.study_table",
    "register": "guidefbo.methods.plugins",
    "simulate": "guidefbo.simulation.simulate",
}
__all__ = [
    "Agent",
    "AtMost",
    "Bool",
    "Choice",
    "FedBOError",
    "Float",
    "Int",
    "Method",
    "Outcome",
    "Rule",
    "Space",
    "Strategy",
    "SumTo",
    "SyntheticFunction",
    "Tasks",
    "__version__",
    "connect",
    "merge",
    "optimize",
    "read_study",
    "register",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name == "connect":
        return import_module("guidefbo.connect")  # which can be called
    if name not in _HOMES:
        raise AttributeError(f"module 'guidefbo' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
