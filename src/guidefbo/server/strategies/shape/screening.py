"""Leave out sites whose trends stand out as a whole.

Drawing single estimates in bounds what one site can do to one coefficient. Several who
agree can still pull every coefficient as far as that bound. But an honest site that is
off by two standard deviations in one coefficient is not so in all of them: over many
coefficients, sites that are can be told apart.

References:
    Hampel, The influence curve and its role in robust estimation, J. Am. Stat. Assoc.
    1974: estimates beyond some distance count for nothing.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Matrix
from guidefbo.server.strategies.shape.pooling import (
    SMALLEST,
    Pooled,
    believable,
    robust,
)

TO_SD = 1.4826
"""What makes a standard deviation of a normal's median absolute deviation."""
PATIENCE = 3.0
"""Standard deviations by which a site's mean squared distance may exceed what is
usual."""
FEWEST = 5
"""Sites below which nobody is left out: of four, two who lie are half."""


def screened(b: Matrix, v: Matrix, blocks: list[slice]) -> Pooled:
    """Pool robustly, without the sites that stand out as a whole."""
    out = standing_out(b, v)
    if not out.any():
        return robust(b, v, blocks)
    heard = robust(b[~out], v[~out], blocks)
    means, variances = np.empty(b.shape), np.empty(b.shape)
    means[~out], variances[~out] = heard.means, heard.variances
    # A site that is left out hears all who are not, as one who said nothing would.
    means[out], variances[out] = heard.from_all
    return replace(heard, means=means, variances=variances)


def standing_out(b: Matrix, v: Matrix) -> NDArray[np.bool_]:
    """Return which sites are further from the median than honest ones would be.

    By the mean over the coefficients of the squared distance, in units of the usual
    scatter, or of the site's own claim where that is larger. Of p independent normal
    distances it is 1 with standard deviation √(2 / p), if the scatter is known. It is
    that of the same few sites: where they differ much more than they are unsure, 12 %
    of sixteen honest ones go, and 3 % of forty. Where most sites would stand out there
    is nothing to stand out from, and nobody does.
    """
    num_sites, p = b.shape
    nobody = np.zeros(num_sites, dtype=np.bool_)
    if num_sites < FEWEST:
        return nobody
    away = np.abs(b - np.median(b, axis=0))
    scatter = np.maximum((TO_SD * np.median(away, axis=0)) ** 2, SMALLEST)
    distance = np.mean(away**2 / np.maximum(scatter, believable(v)), axis=1)
    out: NDArray[np.bool_] = distance > 1.0 + PATIENCE * np.sqrt(2.0 / p)
    return out if 2 * out.sum() < num_sites else nobody
