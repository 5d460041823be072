"""What messages say, in the words and units of a site's own search space.

A site reads these lines before a message leaves. They are made of the message and the
space alone: no observation is needed to write them.
"""

from operator import mul
from typing import TYPE_CHECKING, Any

import numpy as np

from guidefbo.core.arrays import Point
from guidefbo.core.space.parameters import Bool, Choice, Parameter
from guidefbo.core.space.space import Space

if TYPE_CHECKING:
    # A strategy loads its own messages, and not those of the others.
    from guidefbo.core.component import Components
    from guidefbo.wire.consensus import PeakUpload
    from guidefbo.wire.fmtbo import SharedHyperparameters
    from guidefbo.wire.fts import FeatureWeights, RegionWeights
    from guidefbo.wire.guide import OptimumUpload
    from guidefbo.wire.shape import ShapePacket, ShapeUpload

_ENDS = (-0.5, 0.0, 0.5)


def optimum_words(message: "OptimumUpload | PeakUpload", space: Space) -> list[str]:
    """Return where an upload places the optimum."""
    spread = _spread(message.variance)
    return [
        f"the best values lie near {place_words(space, message.center, spread)}",
        f"weight of this place among all: {message.mass:.3g}",
        f"how good it is there: {message.value_score:.3g} standard deviations of this "
        "site's values above their mean, as a cautious estimate",
    ]


def component_words(message: Any, space: Space) -> list[str]:
    """Return the places a packet names."""
    c: Components = message.components
    if not len(c):
        return ["nothing: nobody else has spoken"]
    return [
        f"others find good values near "
        f"{place_words(space, center, _spread(variance))}; weight {weight:.3g}"
        for weight, center, variance in zip(
            c.weights, c.centers, c.variances, strict=True
        )
    ]


def component_place(message: Any, space: Space) -> Point | None:
    """Return the middle of the place that a packet gives most weight."""
    del space
    c: Components = message.components
    return c.centers[int(np.argmax(c.weights))] if len(c) else None


def shape_place(message: "ShapePacket", space: Space) -> Point | None:
    """Return where others expect the optimum, with the options they find best."""
    from guidefbo.wire.shape import CHOICE, PLACE

    if not len(message):
        return None
    x = np.full(space.dim, 0.5)
    blocks = list(zip(message.kinds, message.means, strict=True))
    options = iter(means for kind, means in blocks if kind == CHOICE)
    places = [means for kind, means in blocks if kind == PLACE]
    numbers = iter([float(u) for means in places for u in means])
    for name, parameter in space.parameters.items():
        if isinstance(parameter, Choice):
            x[space.places[name]] = np.eye(parameter.size)[
                int(np.argmax(next(options)))
            ]
        else:
            # Counted from the middle of the cube.
            x[space.places[name]] = np.clip(next(numbers, 0.0) + 0.5, 0.0, 1.0)
    return x


def shape_words(message: "ShapeUpload | ShapePacket", space: Space) -> list[str]:
    """Return the effect of each parameter over its range, and the optimum's place."""
    if not len(message):
        return ["nothing: nobody else has spoken"]
    from guidefbo.agent.strategies.shape.features import polynomials
    from guidefbo.wire.shape import CHOICE, DEGREES, PLACE

    numbers = [n for n, p in space.parameters.items() if not isinstance(p, Choice)]
    choices = [(n, p) for n, p in space.parameters.items() if isinstance(p, Choice)]
    blocks: dict[str, list[Any]] = {}
    for kind, means, variances in zip(
        message.kinds, message.means, message.variances, strict=True
    ):
        blocks.setdefault(kind, []).append((means, variances))
    lines = ["effect on the values, in standard deviations; larger is better"]
    by_degree = [means for kind in DEGREES for means, _ in blocks.get(kind, [])]
    trends = zip(numbers, *by_degree, strict=True) if by_degree else ()
    for name, *coefficients in trends:
        parameter = space.parameters[name]
        effects = [
            f"{_at(parameter, u + 0.5)} "
            f"{sum(map(mul, coefficients, polynomials(u))):+.2f}"
            for u in _ENDS
        ]
        if isinstance(parameter, Bool):
            effects = [effects[0], effects[-1]]
        lines.append(f"{name}: {', '.join(effects)}")
    for (name, choice), (means, _) in zip(choices, blocks.get(CHOICE, []), strict=True):
        effects = [
            f"{option} {mean:+.2f}"
            for option, mean in zip(choice.options, means, strict=True)
        ]
        lines.append(f"{name}: {', '.join(effects)}")
    for means, variances in blocks.get(PLACE, []):
        # Counted from the middle of the cube.
        parts = [
            _number_words(name, space.parameters[name], mean + 0.5, spread)
            for name, mean, spread in zip(
                numbers, means, np.sqrt(variances), strict=True
            )
        ]
        lines.append(f"the best values lie near {', '.join(parts)}")
    return lines


def weight_words(message: "FeatureWeights | RegionWeights", space: Space) -> list[str]:
    """Return how many weights of random features there are, which have no units."""
    low, high = message.weights.min(), message.weights.max()
    return [
        f"{message.weights.size} weights of random features of the values, from "
        f"{low:.3g} to {high:.3g}; they have no units of their own"
    ]


def model_words(message: Any, space: Space) -> list[str]:
    """Return how quickly values vary along each parameter."""
    hyper: SharedHyperparameters = message.hyper
    scales = hyper.lengthscales
    if len(scales) == 1:
        lines = [f"values vary over {scales[0]:.2g} of every parameter's range"]
    else:
        lines = [
            f"values vary over {scales[place].min():.2g} of the range of {name}"
            for name, place in space.places.items()
        ]
    lines.append(
        f"variance of the values, in the model's units: {hyper.outputscale:.3g}"
    )
    if hyper.mean is not None:
        lines.append(f"mean of the values, in the model's units: {hyper.mean:.3g}")
    if hasattr(message, "ranks"):
        lines.append(
            f"in which order this site would rank {len(message.ranks)} points that "
            "all sites draw alike"
        )
    return lines


def place_words(space: Space, center: Point, spread: Point) -> str:
    """Return a place in a space's own units: the middle, and a deviation each way."""
    parts: list[str] = []
    for name, parameter in space.parameters.items():
        c, s = center[space.places[name]], spread[space.places[name]]
        if isinstance(parameter, Choice):
            shares = ", ".join(
                f"{option} {share:.2g}"
                for option, share in zip(parameter.options, c, strict=True)
            )
            parts.append(f"{name} ({shares})")
        else:
            parts.append(_number_words(name, parameter, float(c[0]), float(s[0])))
    return ", ".join(parts)


def _number_words(name: str, parameter: Parameter, middle: float, spread: float) -> str:
    """Return one coordinate of a place: the middle, and a deviation each way."""
    if isinstance(parameter, Bool):
        return f"{name}={_at(parameter, middle)}"
    low, high = (_at(parameter, middle + sign * spread) for sign in (-1.0, 1.0))
    return f"{name}={_at(parameter, middle)} ({low} to {high})"


def _at(parameter: Parameter, u: float) -> str:
    assert not isinstance(parameter, Choice)
    value = parameter.from_unit(float(min(max(u, 0.0), 1.0)))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _spread(variance: Any) -> Point:
    """Return the standard deviation along each coordinate."""
    return np.sqrt(np.diagonal(variance) if variance.ndim == 2 else variance)
