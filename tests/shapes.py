"""Shape checks over the whole package, each once for the shapes it has seen.

jaxtyping's import hook checks every call of every function, which makes small array
code three times as slow. What it checks depends on the types, shapes and dtypes of the
arrays that go in and come out and on nothing else: a call like one that has passed
passes, and need not be looked at again.
"""

import dataclasses
import functools
import inspect
import types
import typing

import jaxtyping
import numpy as np
from beartype import BeartypeConf, beartype
from jaxtyping import AbstractArray, jaxtyped

SEEN = {}
"""Code of a function -> (shapes in, shapes out) that have passed. By code, since a
function within a function is made anew with every call of the outer one."""


def install(package):
    """Check the functions and dataclasses of a package that is not yet imported."""
    # The hook decorates with whatever goes by this name.
    jaxtyping.jaxtyped = check_once
    jaxtyping.install_import_hook(package, f"{__name__}.check_arrays")


def check_arrays(function):
    """Check the annotations of a function that speak of arrays, and no others."""
    kept = array_hints(function)
    if not kept:
        return function
    function.__annotations__ = kept
    return beartype(function, conf=BeartypeConf(is_pep484_tower=True))


def array_hints(function):
    """Return the annotations that speak of arrays."""
    found = {}
    for name, hint in function.__annotations__.items():
        if isinstance(hint, str):
            try:
                hint = eval(hint, function.__globals__)
            except (NameError, SyntaxError):
                continue
        if names_an_array(hint):
            found[name] = hint
    return found


def names_an_array(hint):
    if typing.get_origin(hint) is np.ndarray:
        return True
    if inspect.isclass(hint) and issubclass(hint, AbstractArray):
        return True
    return any(map(names_an_array, typing.get_args(hint)))


def check_once(function=None, *, typechecker):
    """Stand in for `jaxtyped`: the same checks, once for the same shapes."""
    if function is None:
        return functools.partial(check_once, typechecker=typechecker)
    if inspect.isclass(function):
        init = vars(function).get("__init__")
        is_plain = isinstance(init, types.FunctionType) and not is_checked(init)
        if dataclasses.is_dataclass(function) and is_plain:
            function.__init__ = check_once(init, typechecker=typechecker)
        return function
    hints = array_hints(function)
    if not hints:
        return function
    parameters = list(inspect.signature(function).parameters.values())
    many = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if any(p.kind in many and p.name in hints for p in parameters):
        return jaxtyped(function, typechecker=typechecker)
    places = [i for i, p in enumerate(parameters) if p.name in hints]
    has_output = "return" in hints
    seen = SEEN.setdefault(function.__code__, set())

    @functools.cache
    def checked():
        return jaxtyped(function, typechecker=typechecker)

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        __tracebackhide__ = True
        given = (
            len(args),
            *[shape_of(args[i]) for i in places if i < len(args)],
            *[(name, shape_of(kwargs[name])) for name in kwargs if name in hints],
        )
        if given not in seen:
            result = checked()(*args, **kwargs)
            seen.update((given, (given, shape_of(result))))
            return result
        result = function(*args, **kwargs)
        if has_output and (given, shape_of(result)) not in seen:
            known = returning(result, function)
            jaxtyped(known, typechecker=typechecker)(*args, **kwargs)
            seen.add((given, shape_of(result)))
        return result

    wrapper.is_checked = True
    return wrapper


def is_checked(function):
    return getattr(function, "is_checked", False)


def returning(result, function):
    """Return a function with the signature of another that returns what is known."""

    def known(*args, **kwargs):
        return result

    here = types.FunctionType(
        known.__code__, function.__globals__, closure=known.__closure__
    )
    return functools.wraps(function)(here)


def shape_of(value):
    """Return all of a value that a check looks at."""
    kind = type(value)
    if kind is np.ndarray:
        return value.dtype, value.shape
    if isinstance(value, (tuple, list)):
        return kind, *map(shape_of, value)
    if isinstance(value, np.ndarray):
        return kind, value.dtype, value.shape
    if isinstance(value, dict):
        return kind, *map(shape_of, value.values())
    return kind
