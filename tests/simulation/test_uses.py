"""Every setting that the records of a method declare does something to what is built.

The other way round nothing needs to be tested: a part is built from its own settings
type and sees no other.
"""

import functools
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

from guidefbo.agent.decision.search import SearchSettings
from guidefbo.agent.surrogate.model import ModelSettings
from guidefbo.core.errors import SettingsError, UnknownNameError
from guidefbo.core.streams import Streams
from guidefbo.methods.registry import all_methods
from guidefbo.problems.library import make_problem
from guidefbo.simulation import assemble

METHODS = {method.name: method for method in all_methods()}
CONTEXTS = ({}, {"privacy": "gaussian"}, {"lie": "drift"}, {"schedule": "constant"})
"""A setting of a part that can be switched off counts where the part is on."""
SIZE = (9, 4, 2)
"""Agents, initial points, dimensions."""
PROBLEM = make_problem("sphere", dim=2, num_agents=9, streams=Streams(0))


def built(method, given):
    """Return all that a run is made of, as something to compare."""
    streams, policies = Streams(0), []
    design = method.design(given, SIZE, streams)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            assemble, "RoundAgent", lambda policy, **rest: policies.append(policy)
        )
        assemble.assemble(
            method, given, PROBLEM, design, np.zeros(SIZE[:2]), streams=streams
        )
    return described(
        [
            design,
            policies[0],
            method.run_server(given),
            method.liars(given, SIZE[0], 10),
            method.paper_scalars(given, SIZE[2]),
        ]
    )


def described(value):
    """Return nested plain values that differ wherever parts differ."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(k): described(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [described(v) for v in value]
    if is_dataclass(value) and not isinstance(value, type):
        own = [described(getattr(value, f.name)) for f in fields(value)]
        return [type(value).__qualname__, *own]
    if isinstance(value, functools.partial):
        return described([value.func, value.args, value.keywords])
    if isinstance(value, types.MethodType):
        return described([value.__func__, value.__self__])
    if isinstance(value, types.FunctionType):
        held = [cell.cell_contents for cell in value.__closure__ or ()]
        return [value.__qualname__, *(described(v) for v in held if v is not value)]
    if isinstance(value, str | int | float | bool | type(None) | type):
        return str(value)
    own = {k: v for k, v in getattr(value, "__dict__", {}).items() if k[0] != "_"}
    return [type(value).__qualname__, described(own)]


def another(setting):
    """Return a value that the setting may have and has not by default."""
    if setting.names:
        return next(name for name in setting.names if name != setting.default)
    # Half of it, or twice as much: regions come in powers of two.
    half = setting.default / 2
    is_less = half >= setting.low and type(setting.default)(half) == half != 0.0
    return half if is_less else 2 * setting.default or setting.high


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_every_declared_setting_changes_what_is_built(method):
    known = method.run_settings
    for name, setting in known.items():
        changed = False
        for context in CONTEXTS:
            if not context.keys() <= known.keys() or name in context:
                continue
            changed |= built(method, {**context, name: another(setting)}) != built(
                method, context
            )
        assert changed, name


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_the_settings_are_those_of_the_parts(method):
    s, rule = method.strategy, method.rule
    parts = [ModelSettings, SearchSettings, rule.settings, s.agent]
    parts += [] if s.server is None else [s.server]
    site = {f.name for kind in parts for f in fields(kind)}
    assert method.settings.keys() == site
    simulated = {f.name for kind in (s.liars, s.hostile) if kind for f in fields(kind)}
    assert method.run_settings.keys() == site | simulated
    for name, setting in method.run_settings.items():
        assert setting.check(setting.default) == setting.default, name
        assert setting.text


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_setting_of_another_method_is_refused(method):
    everybody = {name for other in METHODS.values() for name in other.run_settings}
    for name in everybody - method.run_settings.keys():
        with pytest.raises(UnknownNameError, match=f"of {method.name} '{name}'"):
            method.check_run({name: 1})
    for name in method.run_settings.keys() - method.settings.keys():
        with pytest.raises(SettingsError, match=name):
            method.check({name: method.run_settings[name].default})
