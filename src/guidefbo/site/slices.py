"""The numbers behind an agent's picture: slices of its model, and importance."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.guidance.field import GuidanceField
from guidefbo.agent.guidance.place import Place
from guidefbo.agent.side import Aiming
from guidefbo.agent.surrogate.model import Fitted
from guidefbo.core.arrays import (
    OtherValues,
    Point,
    Points,
    Values,
    frozen_array,
)
from guidefbo.core.component import Components
from guidefbo.core.space.goal import SIGNS
from guidefbo.core.space.parameters import Bool, Choice, Int, Parameter
from guidefbo.core.space.space import SLACK, Space
from guidefbo.core.threads import single_blas_thread
from guidefbo.site.agent import Agent
from guidefbo.site.guidance import GuidanceState
from guidefbo.site.learner import NUMERICAL
from guidefbo.site.trial import Trial, TrialState

NUM_GRID = 101
"""Values of a number at which its slice is computed, the recommended one besides."""
LEAST_SPREAD = 0.02
"""A place is drawn at least that wide, as a share of a range."""
NUM_GROUPS = 10
"""Parts of the results that are left out in turn, to see how firm importance is."""
MAX_POINTS = 16
"""Up to this many whole numbers or options are drawn as points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """The model along one parameter, the others at the recommended point."""

    name: str
    """The parameter's name."""
    parameter: Parameter
    """Its kind and bounds."""
    x: Values
    """(n,) values of the parameter; of a choice or a bool, positions from 0."""
    labels: tuple[str, ...]
    """(n,) options of a choice or a bool, none of a number."""
    mean: Values
    """(n,) posterior mean, in the site's units; it and the band end where the bounds of
    the outcome do, if they are known."""
    std: Values
    """(n,) its standard deviation: how well the mean is known, noise left out."""
    low: Values
    """(n,) lower end of the band of ± 2 std of the model, which may be lopsided."""
    high: Values
    """(n,) its upper end."""
    feasible: NDArray[np.bool_]
    """(n,) whether the constraints hold there."""
    guidance: Values | None
    """(n,) the field G between 0 and 1 with that value, the others where it is
    strongest; None where no field is active. Along the slice alone most of it would be
    out of sight: in ten dimensions it hardly ever passes near."""
    at: int
    """Which of them is the recommended value."""
    observed_x: OtherValues
    """(m,) where each result lies, as x."""
    observed: OtherValues
    """(m,) what was told of it."""
    near: NDArray[np.bool_]
    """(m,) whether each result is near the slice: within a lengthscale of the model in
    all other parameters together. The others say little of this curve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Importance:
    """How much each parameter moves the model, as shares."""

    names: tuple[str, ...]
    """The parameters, the most important first."""
    shares: Values
    """At least 0, and one in sum."""
    left_out: NDArray[np.float64]
    """(g, d) the same shares with a tenth of the results left out, each in turn; no
    rows where that cannot be done."""

    @property
    def errors(self) -> Values:
        """Standard errors of the shares: by how much other results would move them."""
        return _jackknife(self.left_out)

    def top(self, count: int) -> tuple[list[str], Values, Values]:
        """Return the first names, shares and errors, the others together at the end."""
        names, rest = list(self.names[:count]), len(self.names) - count
        if rest <= 0:
            return names, self.shares, self.errors
        folded = [
            np.append(rows[..., :count], rows[..., count:].sum(-1, keepdims=True), -1)
            for rows in (self.shares, self.left_out)
        ]
        return [*names, f"{rest} others"], folded[0], _jackknife(folded[1])


def _jackknife(left_out: NDArray[np.float64]) -> Values:
    """Return the standard error of numbers by those without one of g groups each."""
    g = len(left_out)
    if g < 2:
        return np.array([np.nan] * left_out.shape[-1])
    apart = left_out - np.mean(left_out, axis=0)
    total: NDArray[np.float64] = np.sum(apart**2, axis=0)
    return np.sqrt(total * (g - 1) / g)


def slices_of(agent: Agent) -> tuple[Slice, ...]:
    """Return a slice for every parameter through the recommended point.

    None without a result, or where no model can be fitted. Where a sum is fixed, no
    parameter moves alone: the others of the sum make room.
    """
    fitted, best = agent.fitted, agent.best()
    if fitted is None or best is None:
        return ()
    gp, _, units = fitted
    done, sign = in_state(agent, TrialState.DONE), SIGNS[agent.goal]
    _, told = told_of(done)
    # What was run a little outside the bounds is drawn where the model has it.
    centre = {**best.values, **agent.space.outside(best.values)}
    x, field = agent.space.to_unit(centre, overshoot=np.inf), field_of(agent)
    slices: list[Slice] = []
    for name, parameter in agent.space.parameters.items():
        seen = [trial.as_run[name] for trial in done]
        values = _grid(parameter, centre[name], seen)
        X, feasible = _line(agent.space, x, name, values)
        mean, std = gp.predict(X)
        middle = units.to_site(mean)
        ends = [sign * units.to_site(mean + z * std) for z in (-2.0 * sign, 2.0 * sign)]
        low, high, middle_shown = (possible(agent, y) for y in (*ends, sign * middle))
        places, is_named = values, isinstance(parameter, Choice | Bool)
        if is_named:
            places = list(range(len(values)))
            seen = [values.index(v) if v in values else np.nan for v in seen]
        slices.append(
            Slice(
                name=name,
                parameter=parameter,
                x=frozen_array(places),
                labels=tuple(map(str, values)) if is_named else (),
                mean=frozen_array(middle_shown),
                std=frozen_array(std / units.slope(middle)),
                low=frozen_array(low),
                high=frozen_array(high),
                feasible=feasible,
                guidance=None
                if field is None
                else frozen_array(_strongest(field, agent.space, name, X)),
                at=values.index(centre[name]),
                observed_x=frozen_array(seen),
                observed=frozen_array(told),
                near=_near(agent, fitted, done, x, agent.space.places[name]),
            )
        )
    return tuple(slices)


def _near(
    agent: Agent, fitted: Fitted, done: list[Trial], x: Point, place: slice
) -> NDArray[np.bool_]:
    """Return which results lie near the slice of one parameter through a point."""
    space, ell = agent.space, fitted.posterior.hyper.lengthscales
    X = [space.to_unit(trial.as_run, overshoot=np.inf) for trial in done]
    apart = ((np.array(X).reshape(-1, space.dim) - x) / ell) ** 2
    apart[:, place] = 0.0
    return apart.sum(axis=1) <= 1.0


def field_of(agent: Agent) -> GuidanceField | None:
    """Return where the guidance in use points; None without, or if it is no field."""
    held, fitted = agent.guidance, agent.fitted
    if held.state != GuidanceState.ACTIVE or fitted is None:
        return None
    packet, side = held.packet, agent.setup.policy().side
    if isinstance(side, Aiming):
        packet = side.aimed(side.study(fitted.posterior), packet)
    components = getattr(packet, "components", None)
    place = getattr(packet, "told", None)
    if isinstance(place, Place) and (place.variance < 1.0).any():
        components = Components(
            weights=np.ones(1),
            centers=place.center[None],
            variances=np.maximum(place.variance, LEAST_SPREAD**2)[None],
        )
    if not isinstance(components, Components) or not len(components):
        return None
    return GuidanceField.of(components)


def importance_of(agent: Agent) -> Importance | None:
    """Return each parameter's share of the sum of 1 / lengthscale; None: no model.

    A choice's coordinates share one lengthscale, which counts once. A lengthscale is
    the part of a parameter's range over which the model changes, so the share says how
    quickly it changes along the range that was given: other bounds, another share. It
    says nothing of the size or the sign of an effect, counts wiggles more than a
    straight slope, and compares a choice, whose options are all equally far apart, with
    a number only roughly. After few results it is mostly the prior's. The model is
    fitted again without some of the results, to say how far the shares can be trusted.
    """
    fitted = agent.fitted
    if fitted is None:
        return None
    shares = _shares(agent, fitted)
    order = np.argsort(-shares, kind="stable")
    names = tuple(list(agent.space.places)[int(i)] for i in order)
    left_out = np.array([_shares(agent, f) for f in _without_some(agent, fitted)])
    return Importance(
        names=names,
        shares=frozen_array(shares[order]),
        left_out=frozen_array(left_out.reshape(-1, len(order))[:, order]),
    )


def _shares(agent: Agent, fitted: Fitted) -> Values:
    ell = fitted.posterior.hyper.lengthscales
    rates = np.array([1.0 / ell[place.start] for place in agent.space.places.values()])
    return rates / rates.sum()


def _without_some(agent: Agent, fitted: Fitted) -> list[Fitted]:
    """Return the model without every tenth result, or each single one of fewer."""
    data, units = fitted.data, fitted.units
    n, model = len(data), agent.setup.policy().model
    y = units.to_site(data.y)
    std = None if data.std is None else data.std / units.slope(y)
    groups = np.arange(n) % min(n, NUM_GROUPS)
    kept = [groups != group for group in range(min(n, NUM_GROUPS))]
    if n < 3:
        return []
    try:
        with single_blas_thread():
            return [
                model.fit(
                    Dataset(X=data.X[k], y=y[k], std=None if std is None else std[k])
                )
                for k in kept
            ]
    except NUMERICAL:
        return []


def possible(agent: Agent, values: Values) -> Values:
    """Return values in the site's units, cut where the outcome's bounds are."""
    low, high = agent.setup.outcome_bounds
    return np.clip(
        values, -np.inf if low is None else low, np.inf if high is None else high
    )


def in_state(agent: Agent, state: TrialState) -> list[Trial]:
    """Return the trials in a state, by id."""
    return [trial for trial in agent.trials if trial.state == state]


def told_of(trials: list[Trial]) -> tuple[Values, Values]:
    """Return the ids of trials with a value, and the values."""
    ids = np.array([trial.id for trial in trials], dtype=np.float64)
    return ids, np.array([trial.value for trial in trials], dtype=np.float64)


def _strongest(field: GuidanceField, space: Space, name: str, X: Points) -> Values:
    """Return G at each value of a parameter, the others where it is strongest.

    The largest value of the field over points that have that value and are otherwise
    at the middle of a component, between steps and options where that lies there.
    """
    place, found = space.places[name], field(X)
    for center in field.centers:
        moved = np.tile(center, (len(X), 1))
        moved[:, place] = X[:, place]
        found = np.maximum(found, field(moved))
    return found


def _grid(parameter: Parameter, recommended: Any, seen: list[Any]) -> list[Any]:
    """Return the values to compute a slice at, in order, the recommended among them."""
    if isinstance(parameter, Choice):
        # Of very many options those tried most; the model cannot tell the others apart.
        tried = Counter([recommended] * (len(seen) + 1) + seen).most_common(MAX_POINTS)
        few = parameter.size <= MAX_POINTS
        return [o for o in parameter.options if few or o in dict(tried)]
    if isinstance(parameter, Bool):
        return [False, True]
    if isinstance(parameter, Int) and parameter.num_levels <= NUM_GRID:
        return list(range(parameter.low, parameter.high + 1))
    units = np.linspace(0.0, 1.0, NUM_GRID).tolist()
    return sorted({recommended, *map(parameter.from_unit, units)})


def _line(
    space: Space, x: Point, name: str, values: list[Any]
) -> tuple[Points, NDArray[np.bool_]]:
    """Return x with other values of a parameter, and which points are allowed."""
    parameter, place, domain = space.parameters[name], space.places[name], space.domain
    X = np.tile(x, (len(values), 1))
    X[:, place] = np.array([parameter.to_unit(v) for v in values]).reshape(len(X), -1)
    polytope, columns = domain.polytope, domain.columns
    if polytope is None or place.start not in columns:
        return X, np.ones(len(X), dtype=np.bool_)
    k = int(np.flatnonzero(columns == place.start)[0])
    along = polytope.basis @ polytope.basis[k]
    if along[k] > 1e-9:
        others = np.arange(len(columns)) != k
        X[:, columns[others]] += (X[:, place] - x[place]) * (along / along[k])[others]
    # A told point may miss a constraint a little, and then its neighbours may, too.
    is_exact = polytope.contains(x[columns][None])[0]
    tolerance = 1e-9 if is_exact else SLACK * np.sqrt(len(columns))
    return X, polytope.contains(X[:, columns], tolerance)
