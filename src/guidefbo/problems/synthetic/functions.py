"""The twelve synthetic functions of the study, with box, scale and optimum."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

import numpy as np

from guidefbo.problems.synthetic import formulas, optima, wells
from guidefbo.problems.synthetic.function import SyntheticFunction
from guidefbo.problems.synthetic.wells import Wells

_down_to_zero = partial(SyntheticFunction, maximum=optima.zero, is_global=True)
"""A function whose smallest value, 0, is the smallest anywhere."""
_centred = partial(_down_to_zero, maximiser=optima.everywhere(0.0))
"""One that has it at the raw origin."""

ACKLEY = _centred(
    name="ackley",
    domain=(-32.768, 32.768),
    output_scale=20.0,
    landscape="multimodal",
    function=formulas.ackley,
    wells=Wells(grids=(wells.every(1.0),)),
)
LEVY = _down_to_zero(
    name="levy",
    domain=(-10.0, 10.0),
    output_scale=200.0,
    landscape="multimodal",
    function=formulas.levy,
    maximiser=optima.everywhere(1.0),
    wells=Wells(grids=(wells.levy,)),
)
GRIEWANK = _centred(
    name="griewank",
    domain=(-600.0, 600.0),
    output_scale=200.0,
    landscape="multimodal",
    function=formulas.griewank,
    wells=Wells(grids=(wells.griewank,)),
)
RASTRIGIN = _centred(
    name="rastrigin",
    domain=(-5.12, 5.12),
    output_scale=200.0,
    landscape="highly multimodal",
    function=formulas.rastrigin,
    wells=Wells(grids=(wells.every(1.0),)),
)
WEIERSTRASS = _centred(
    name="weierstrass",
    domain=(-0.5, 0.5),
    output_scale=50.0,
    landscape="irregular, multimodal",
    function=formulas.weierstrass,
    wells=Wells(grids=tuple(wells.every(3.0**-k) for k in range(4)), is_smooth=False),
)
ELLIPSOID = _centred(
    name="ellipsoid",
    domain=(-5.12, 5.12),
    output_scale=2000.0,
    landscape="ill-conditioned bowl",
    function=formulas.ellipsoid,
)
SPHERE = _centred(
    name="sphere",
    domain=(-5.0, 5.0),
    output_scale=200.0,
    landscape="unimodal",
    function=formulas.sphere,
)
ZAKHAROV = _centred(
    name="zakharov",
    domain=(-5.0, 5.0),
    output_scale=1e7,
    landscape="plate-shaped",
    function=formulas.zakharov,
)
ROSENBROCK = _down_to_zero(
    name="rosenbrock",
    domain=(-2.048, 2.048),
    output_scale=5000.0,
    landscape="narrow curved valley",
    function=formulas.rosenbrock,
    maximiser=optima.everywhere(1.0),
    min_dim=2,
)
MICHALEWICZ = SyntheticFunction(
    name="michalewicz",
    domain=(0.0, np.pi),
    output_scale=10.0,
    landscape="multimodal with steep valleys",
    function=formulas.michalewicz,
    maximiser=optima.michalewicz_maximiser,
    maximum=optima.michalewicz_maximum,
    wells=Wells(grids=(wells.michalewicz,), is_centred=False),
)
POWELL = _centred(
    name="powell",
    domain=(-5.0, 5.0),
    output_scale=5000.0,
    landscape="non-separable, in blocks of four coordinates",
    function=formulas.powell,
    min_dim=4,
)
STYBLINSKI_TANG = SyntheticFunction(
    name="styblinski-tang",
    domain=(-5.0, 5.0),
    output_scale=400.0,
    landscape="multimodal, separable",
    function=formulas.styblinski_tang,
    maximiser=optima.everywhere(optima.STYBLINSKI_TANG_PEAK),
    maximum=optima.styblinski_tang_maximum,
    is_global=True,
    wells=Wells(grids=(wells.styblinski_tang,)),
)

FUNCTIONS: Mapping[str, SyntheticFunction] = MappingProxyType(
    {
        function.name: function
        for function in (
            ACKLEY,
            LEVY,
            GRIEWANK,
            RASTRIGIN,
            WEIERSTRASS,
            ELLIPSOID,
            SPHERE,
            ZAKHAROV,
            ROSENBROCK,
            MICHALEWICZ,
            POWELL,
            STYBLINSKI_TANG,
        )
    }
)
"""All twelve by name, in the order of the paper's table."""
