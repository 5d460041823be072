"""The trend that `shape` and `trend` decide on, as a mean and a kernel of GPyTorch."""

import warnings
from typing import Any

import numpy as np

with warnings.catch_warnings(action="ignore"):
    import torch
    from gpytorch.kernels import Kernel
    from gpytorch.means import Mean
    from linear_operator.operators import MatmulLinearOperator, RootLinearOperator

from guidefbo.agent.strategies.shape.features import ShapeFeatures, polynomials
from guidefbo.agent.surrogate.trend import TrendPrior
from guidefbo.core.errors import SettingsError

Tensor = torch.Tensor
DOUBLE = torch.float64


def to_tensor(values: Any) -> Tensor:
    """Return numbers as a tensor of doubles of its own."""
    return torch.tensor(np.asarray(values), dtype=DOUBLE)


class ShapeMean(Mean):
    """A constant and what the other sites expect of the trend: c + φ(x)ᵀ θ."""

    def __init__(self, prior: TrendPrior) -> None:
        """Take the trend's prior.

        Args:
            prior: Of coefficients of the features of a search space.
        """
        super().__init__()
        self.features = TorchFeatures(prior.basis)
        self.register_buffer("coefficients", to_tensor(prior.means))
        self.register_parameter(
            "constant", torch.nn.Parameter(torch.zeros((), dtype=DOUBLE))
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the mean at points, one a row along the last axis."""
        return self.constant + self.features(x) @ self.coefficients.to(x)


class ShapeKernel(Kernel):
    """How far a site's trend may differ from that: φ(x)ᵀ diag(s) φ(x')."""

    has_lengthscale = False

    def __init__(self, prior: TrendPrior) -> None:
        """Take the trend's prior.

        Args:
            prior: Of coefficients of the features of a search space.
        """
        super().__init__()
        self.features = TorchFeatures(prior.basis)
        self.register_buffer("roots", to_tensor(np.sqrt(prior.variances)))

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Any:
        """Return the covariance of two sets of points, or its diagonal."""
        del params
        left = self.features(x1) * self.roots.to(x1)
        right = self.features(x2) * self.roots.to(x2)
        if diag:
            return (left * right).sum(-1)
        if x1.shape == x2.shape and torch.equal(x1, x2):
            return RootLinearOperator(left)
        return MatmulLinearOperator(left, right.mT)


class TorchFeatures:
    """The features of `shape`: a constant, polynomials by degree, centred options."""

    def __init__(self, basis: Any) -> None:
        """Take the features of a search space.

        Args:
            basis: Ours.
        """
        if not isinstance(basis, ShapeFeatures):
            raise SettingsError(
                f"Expected the features of a search space, got {type(basis).__name__}."
            )
        self.numbers = torch.as_tensor(basis.numbers)
        self.options = torch.as_tensor(basis.options)
        self.shares = to_tensor(basis.shares)
        self.degree = basis.degree

    def __call__(self, X: Tensor) -> Tensor:
        """Return φ at points, one a row along the last axis."""
        U = X[..., self.numbers] - 0.5
        parts = [
            torch.ones_like(X[..., :1]),
            *polynomials(U)[: self.degree],  # arithmetic, which autograd follows
            X[..., self.options] - self.shares.to(X),
        ]
        return torch.cat(parts, dim=-1)  # E98
