"""Small spaces, light settings and packets of the site's tests."""

import warnings
from contextlib import contextmanager

import numpy as np

from guidefbo import Agent, AtMost, Bool, Choice, Float, Int, Space, SumTo
from guidefbo.core.component import Components
from guidefbo.core.errors import FallbackWarning, GuidanceWarning
from guidefbo.methods.registry import find_method
from guidefbo.wire.envelope import Envelope, PacketHead
from guidefbo.wire.guide import GuidancePacket

LIGHT = {
    "num_paths": 20,
    "num_features": 32,
    "num_candidates": 32,
    "num_raw": 16,
    "num_starts": 3,
    "num_iterations": 5,
}
"""Enough effort to take every path through the code."""
LIGHTER = LIGHT | {"num_starts": 2, "num_iterations": 2}
"""For searches under constraints, which climb from one start after the other."""

METHODS = ("ucb", "nei", "ts", "guide-ucb", "guide-nei", "guide-ts", "consensus-ucb")

SPACES = {
    "line": Space(x=Float(-3, 5)),
    "box": Space(x=Float(0, 1), y=Float(1, 100, log=True)),
    "mixed": Space(
        x=Float(0, 1), n=Int(1, 40), drug=Choice("a", "b", "c"), warm=Bool()
    ),
    "grid": Space(n=Int(0, 2), m=Int(1, 100, log=True), kind=Choice(1, "b", 2.5)),
    "tiny": Space(b=Bool(), c=Choice("a", "b")),
    "shares": Space(
        water=Float(0, 1), oil=Float(0, 1), soap=Float(0, 0.3), n=Int(1, 3)
    ).subject_to(SumTo(1.0, "water", "oil", "soap"), AtMost({"water": 1}, 0.8)),
    "cut": Space(
        a=Float(-5, 5), b=Float(0, 200), c=Choice("u", "v"), d=Float(1, 9, log=True)
    ).subject_to(AtMost({"a": 10, "b": 1}, 100)),
}


def make(space="box", goal="max", **options):
    """Return an agent of little effort."""
    space = SPACES[space] if isinstance(space, str) else space
    light = LIGHT if space.domain.polytope is None else LIGHTER
    # Packets of these tests are of guide.
    given = {"method": "guide-ucb", "settings": light, "initial": 3, "seed": 7}
    given |= options
    known = find_method(given["method"]).settings
    given["settings"] = {k: v for k, v in given["settings"].items() if k in known}
    return Agent(space, goal=goal, **given)


def measure(space, values):
    """Return a smooth function of any space's values, of order one."""
    x = space.to_unit(values)
    return float(np.sin(3.0 * x @ np.arange(1, len(x) + 1)) - ((x - 0.6) ** 2).sum())


def told(space="box", num_results=6, goal="max", **options):
    """Return an agent with that many results."""
    agent = make(space, goal, **options)
    for _ in range(num_results):
        trial = agent.ask()
        agent.tell(trial, measure(agent.space, trial.values))
    return agent


def packet(dim, center=0.8, weight=0.9, variance=0.05):
    """Return guidance towards one place."""
    return GuidancePacket(
        components=Components(
            weights=np.array([weight]),
            centers=np.full((1, dim), center),
            variances=np.full((1, dim), variance),
        )
    )


def handed(agent, body, **head):
    """Return a packet for an agent, made of all it has told so far."""
    told = len([record for trial in agent.trials for record in trial.records])
    given = {
        "terms": agent.setup.terms,
        "site": agent.setup.site,
        "round": 1,
        "answers": told,
        "num_uploads": 3,
        "made_of": "example",
    }
    return Envelope(head=PacketHead(**given | head), body=body)


@contextmanager
def quietly():
    """Let the agent say that it works alone or without its model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GuidanceWarning)
        warnings.simplefilter("ignore", FallbackWarning)
        yield


def in_space(space, values, tolerance=1e-9):
    """Whether values are of the right kinds, in bounds and keep the constraints."""
    if list(values) != list(space.parameters):
        return False
    for name, parameter in space.parameters.items():
        value = values[name]
        if isinstance(parameter, Choice):
            is_inside = value in parameter.options
        elif isinstance(parameter, Bool):
            is_inside = type(value) is bool
        else:
            kind = int if isinstance(parameter, Int) else float
            is_inside = type(value) is kind and parameter.low <= value <= parameter.high
        if not is_inside:
            return False
    return all(_miss(c, values) <= tolerance for c in space.constraints)


def _miss(constraint, values):
    """How far a constraint is missed, relative to what it adds up to."""
    excess = constraint.excess(values)
    end = constraint.total if isinstance(constraint, SumTo) else constraint.bound
    return (abs(excess) if isinstance(constraint, SumTo) else excess) / abs(end)
