"""Ten mixed-space problems, to be minimised, all deterministic.

Four are formulas with choices, integers or both, two are engineering designs whose
constraints became a penalty, and four tune a scikit-learn model on data that it
carries. Each half has the same kinds: `choosing` is for picking defaults, `judging`
for the reported table and nothing else.
"""

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Parameter:
    """One parameter as plain data; `choices` only for a choice, bounds for numbers."""

    kind: Literal["float", "int", "choice", "bool"]
    low: float = 0
    high: float = 1
    log: bool = False
    choices: tuple[str, ...] = ()

    def describe(self) -> str:
        """Return the parameter in a few words."""
        if self.kind == "bool":
            return "bool"
        if self.kind == "choice":
            return f"choice of {len(self.choices)}"
        return f"{self.kind} {self.low:g} to {self.high:g}{' log' if self.log else ''}"


@dataclass(frozen=True)
class Problem:
    """A function of named values to minimise, and where it comes from."""

    name: str
    description: str
    citation: str
    parameters: Mapping[str, Parameter]
    function: Callable[[Values], float]
    half: Literal["choosing", "judging"]
    best: float | None = None
    goal: Literal["min"] = "min"

    def __call__(self, values: Values) -> float:
        """Evaluate the function."""
        return float(self.function(values))


def to_space(problem: Problem) -> Any:
    """Return the problem's `gf.Space`."""
    import guidefbo as gf

    def convert(p: Parameter) -> Any:
        if p.kind == "choice":
            return gf.Choice(*p.choices)
        if p.kind == "bool":
            return gf.Bool()
        if p.kind == "int":
            return gf.Int(int(p.low), int(p.high), log=p.log)
        return gf.Float(p.low, p.high, log=p.log)

    return gf.Space(**{name: convert(p) for name, p in problem.parameters.items()})


def to_distributions(problem: Problem) -> dict[str, Any]:
    """Return the problem's parameters as Optuna distributions."""
    from optuna.distributions import (
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    def convert(p: Parameter) -> Any:
        if p.kind == "choice":
            return CategoricalDistribution(p.choices)
        if p.kind == "bool":
            return CategoricalDistribution((False, True))
        if p.kind == "int":
            return IntDistribution(int(p.low), int(p.high), log=p.log)
        return FloatDistribution(p.low, p.high, log=p.log)

    return {name: convert(p) for name, p in problem.parameters.items()}


def real(low: float, high: float, *, log: bool = False) -> Parameter:
    return Parameter("float", low, high, log)


def whole(low: int, high: int, *, log: bool = False) -> Parameter:
    return Parameter("int", low, high, log)


def choice(*choices: str) -> Parameter:
    return Parameter("choice", choices=choices)


FLAG = Parameter("bool")


# Choices that pick the function -----------------------------------------------------


def rosenbrock(x: float, y: float) -> float:
    return (100 * (y - x**2) ** 2 + (x - 1) ** 2) / 300


def camel(x: float, y: float) -> float:
    return ((4 - 2.1 * x**2 + x**4 / 3) * x**2 + x * y + (4 * y**2 - 4) * y**2) / 10


def beale(x: float, y: float) -> float:
    terms = ((1.5, 1), (2.25, 2), (2.625, 3))
    return sum((c - x + x * y**power) ** 2 for c, power in terms) / 50


FIRST = {"rosenbrock": rosenbrock, "camel": camel, "beale": beale}
SECOND = {**FIRST, "beale-b": beale, "beale-c": beale}
THIRD = {
    "camel-5": (5, camel),
    "rosenbrock-2": (2, rosenbrock),
    "beale-2": (2, beale),
    "beale-3": (3, beale),
}
CAMEL_BEST = -0.10316284534898774


def func_2c(v: Values) -> float:
    x, y = 2 * v["x"], 2 * v["y"]
    return FIRST[v["first"]](x, y) + SECOND[v["second"]](x, y)


def func_3c(v: Values) -> float:
    factor, third = THIRD[v["third"]]
    return func_2c(v) + factor * third(2 * v["x"], 2 * v["y"])


# Integer coordinates ----------------------------------------------------------------

ACKLEY_BEST = {"x1": 1.3, "x2": -2.1, "x3": 0.6, "k1": -3, "k2": 4, "b1": 1, "b2": 0}
STEP = 0.5
"""What one step of an integer coordinate is worth in the function's own unit."""


def ackley(v: Values) -> float:
    offsets = [float(v[name]) - at for name, at in ACKLEY_BEST.items()]
    z = np.array(offsets) * [1, 1, 1, STEP, STEP, 1, 1]
    root = math.sqrt(np.mean(z**2))
    wave = math.exp(np.mean(np.cos(2 * np.pi * z)))
    return 20 - 20 * math.exp(-0.2 * root) + math.e - wave


STYBLINSKI_SIGNS = {
    "north": (0.0, (1, 1, 1, 1, 1)),
    "east": (8.0, (1, -1, 1, -1, 1)),
    "south": (20.0, (-1, -1, 1, 1, -1)),
    "west": (35.0, (-1, 1, -1, -1, -1)),
}
STYBLINSKI_BEST = -195.49849711131426


def styblinski(v: Values) -> float:
    """Each direction has an offset and mirrors some coordinates, the flag mirrors all.

    The mirrored side has its own offset, so that one direction and flag are best.
    """
    offset, signs = STYBLINSKI_SIGNS[v["direction"]]
    x = np.array([v["x1"], v["x2"], v["x3"], STEP * v["k1"], STEP * v["k2"]])
    z = x * signs * (-1 if v["mirrored"] else 1)
    return 0.5 * np.sum(z**4 - 16 * z**2 + 5 * z) + offset + 5 * v["mirrored"]


# Engineering designs ----------------------------------------------------------------

PENALTY = 5.0
"""What a constraint missed by a factor e adds to the logarithm of the cost. It is far
above the gain of missing one, so that the best point keeps every constraint."""


def log_with_penalty(cost: float, *ratios: float) -> float:
    """Return log cost plus the penalty of every ratio above one."""
    return math.log(cost) + PENALTY * sum(max(0.0, math.log(r)) for r in ratios)


def vessel(v: Values) -> float:
    shell, head = 0.0625 * v["shell"], 0.0625 * v["head"]
    r, length = v["radius"], v["length"]
    cost = (
        0.6224 * shell * r * length
        + 1.7781 * head * r**2
        + 3.1661 * shell**2 * length
        + 19.84 * shell**2 * r
    )
    volume = math.pi * r**2 * length + 4 / 3 * math.pi * r**3
    return log_with_penalty(
        cost, 0.0193 * r / shell, 0.00954 * r / head, 1_296_000 / volume
    )


WIRES = (
    *("0.207", "0.225", "0.244", "0.263", "0.283", "0.307"),
    *("0.331", "0.362", "0.394", "0.4375", "0.5"),
)


def spring(v: Values) -> float:
    d, diameter, coils = float(v["wire"]), v["diameter"], v["coils"]
    index = diameter / d
    shear = (4 * index - 1) / (4 * index - 4) + 0.615 / index
    stiffness = 11.5e6 * d**4 / (8 * coils * diameter**3)
    return log_with_penalty(
        math.pi**2 * diameter * d**2 * (coils + 2) / 4,
        8 * shear * 1000 * diameter / (math.pi * d**3) / 189_000,
        (1000 / stiffness + 1.05 * (coils + 2) * d) / 14,
        3 / index,
        300 / stiffness / 6,
        1.25 * stiffness / (1000 - 300),
    )


# Tuning tasks -----------------------------------------------------------------------


@cache
def bundled(name: str, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return `size` rows of one of scikit-learn's own datasets, shuffled once."""
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))[:size]
    return X[order], y[order]


def cross_validate(model: Any, name: str, size: int, scoring: str) -> float:
    """Return minus the mean score over three fixed folds.

    Of the digits each fold learns from only 150 and is scored on all others: with more
    to learn from, most settings make the same few mistakes.
    """
    from sklearn.model_selection import (
        KFold,
        StratifiedKFold,
        StratifiedShuffleSplit,
        cross_val_score,
    )

    X, y = bundled(name, size)
    folds = {
        "breast_cancer": StratifiedKFold(3),
        "diabetes": KFold(3),
        "digits": StratifiedShuffleSplit(3, train_size=150, random_state=0),
    }[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # solvers that stop at their iteration limit
        return -float(np.mean(cross_val_score(model, X, y, cv=folds, scoring=scoring)))


def scaled(model: Any, is_scaled: bool) -> Any:
    """Put a scaler before the model: columns of unit variance, or from 0 to 1."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    return make_pipeline(StandardScaler() if is_scaled else MinMaxScaler(), model)


def svm_digits(v: Values) -> float:
    from sklearn.svm import SVC

    model = SVC(
        kernel=v["kernel"],
        C=v["c"],
        gamma=v["gamma"],
        degree=v["degree"],
        max_iter=2000,
    )
    score = cross_validate(scaled(model, v["standardise"]), "digits", 1797, "accuracy")
    return 100 * (1 + score)


def svr_diabetes(v: Values) -> float:
    from sklearn.svm import SVR

    model = SVR(
        kernel=v["kernel"],
        C=v["c"],
        gamma=v["gamma"],
        degree=v["degree"],
        epsilon=v["epsilon"],
        max_iter=5000,
    )
    pipeline = scaled(model, v["standardise"])
    return cross_validate(pipeline, "diabetes", 442, "neg_root_mean_squared_error")


def forest_diabetes(v: Values) -> float:
    from sklearn.ensemble import RandomForestRegressor

    model = RandomForestRegressor(
        n_estimators=v["trees"],
        criterion=v["criterion"],
        max_depth=v["depth"],
        min_samples_leaf=v["leaf"],
        max_features=v["features"],
        bootstrap=v["bootstrap"],
        random_state=0,
    )
    return cross_validate(model, "diabetes", 442, "neg_root_mean_squared_error")


def boosting_cancer(v: Values) -> float:
    from sklearn.ensemble import GradientBoostingClassifier

    model = GradientBoostingClassifier(
        loss=v["loss"],
        learning_rate=v["rate"],
        n_estimators=v["trees"],
        max_depth=v["depth"],
        subsample=v["rows"],
        max_features="sqrt" if v["few_columns"] else 0.5,
        random_state=0,
    )
    return cross_validate(model, "breast_cancer", 400, "neg_log_loss")


# The catalogue ----------------------------------------------------------------------

RU = (
    "Ru, Alvi, Nguyen, Osborne, Roberts, Bayesian optimisation over multiple "
    "continuous and categorical inputs, ICML 2020"
)
SANDGREN = (
    "Sandgren, Nonlinear integer and discrete programming in mechanical design "
    "optimization, J. Mech. Design 112, 1990"
)
SCIKIT = "scikit-learn's bundled data"
PLANE = {"x": real(-1, 1), "y": real(-1, 1)}
PICKS = {"first": choice(*FIRST), "second": choice(*SECOND)}
KERNEL = {
    "kernel": choice("linear", "rbf", "poly", "sigmoid"),
    "c": real(1e-3, 1e3, log=True),
    "gamma": real(1e-5, 1e1, log=True),
    "degree": whole(1, 6),
    "standardise": FLAG,
}

CATALOG = (
    Problem(
        "func-2c",
        "two choices each add one of three functions of a plane",
        RU,
        {**PICKS, **PLANE},
        func_2c,
        "choosing",
        best=2 * CAMEL_BEST,
    ),
    Problem(
        "func-3c",
        "Func-2C with a third, weighted choice",
        RU,
        {**PICKS, "third": choice(*THIRD), **PLANE},
        func_3c,
        "judging",
        best=7 * CAMEL_BEST,
    ),
    Problem(
        "ackley-mixed",
        "Ackley with three real, two integer and two Boolean coordinates, off-centre",
        "Ackley, A connectionist machine for genetic hillclimbing, 1987",
        {
            **{f"x{i}": real(-5, 5) for i in (1, 2, 3)},
            **{f"k{i}": whole(-10, 10) for i in (1, 2)},
            **{f"b{i}": FLAG for i in (1, 2)},
        },
        ackley,
        "choosing",
        best=0.0,
    ),
    Problem(
        "styblinski-mixed",
        "Styblinski-Tang, three real and two integer coordinates; a choice and a flag "
        "mirror and lift it",
        "Styblinski, Tang, Experiments in nonconvex optimization, Neural Networks 3, "
        "1990",
        {
            **{f"x{i}": real(-5, 5) for i in (1, 2, 3)},
            **{f"k{i}": whole(-10, 10) for i in (1, 2)},
            "direction": choice(*STYBLINSKI_SIGNS),
            "mirrored": FLAG,
        },
        styblinski,
        "judging",
        best=STYBLINSKI_BEST,
    ),
    Problem(
        "vessel",
        "log cost of a pressure vessel, thicknesses in sixteenths of an inch",
        SANDGREN,
        {
            "shell": whole(1, 99),
            "head": whole(1, 99),
            "radius": real(10, 200),
            "length": real(10, 200),
        },
        vessel,
        "choosing",
        best=math.log(6059.714335),
    ),
    Problem(
        "spring",
        "log volume of a coil spring of one of eleven wires",
        SANDGREN,
        {
            "coils": whole(1, 70),
            "diameter": real(0.6, 3),
            "wire": choice(*WIRES),
        },
        spring,
        "judging",
        best=math.log(2.6585591660),
    ),
    Problem(
        "svm-digits",
        "error in percent of a support vector classifier that saw 150 digits",
        SCIKIT,
        KERNEL,
        svm_digits,
        "choosing",
    ),
    Problem(
        "svr-diabetes",
        "root mean squared error of support vector regression on diabetes",
        SCIKIT,
        {**KERNEL, "epsilon": real(1e-2, 1e2, log=True)},
        svr_diabetes,
        "judging",
    ),
    Problem(
        "forest-diabetes",
        "root mean squared error of a random forest on diabetes",
        SCIKIT,
        {
            "trees": whole(4, 32, log=True),
            "criterion": choice("squared_error", "absolute_error", "poisson"),
            "depth": whole(1, 12),
            "leaf": whole(1, 64, log=True),
            "features": real(0.1, 1),
            "bootstrap": FLAG,
        },
        forest_diabetes,
        "choosing",
    ),
    Problem(
        "boosting-cancer",
        "log loss of gradient boosting on 400 rows of breast cancer",
        SCIKIT,
        {
            "loss": choice("log_loss", "exponential"),
            "rate": real(5e-3, 1, log=True),
            "trees": whole(4, 48, log=True),
            "depth": whole(1, 6),
            "rows": real(0.3, 1),
            "few_columns": FLAG,
        },
        boosting_cancer,
        "judging",
    ),
)
PROBLEMS = {problem.name: problem for problem in CATALOG}
