"""guidefbo's sampler as a package of OptunaHub; the code is in `guidefbo[optuna]`."""

from guidefbo.integrations.optuna import FederatedSampler

__all__ = ["FederatedSampler"]
