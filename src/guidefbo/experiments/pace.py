"""How fast this machine is beside the one on which the methods' times were taken."""

import time
from functools import lru_cache
from typing import Any

from guidefbo.core.threads import single_blas_thread

SAMPLE: dict[str, Any] = {"num_agents": 4, "num_initial": 50, "num_rounds": 5}
"""A run of plain UCB of a tenth of a second, of the data of a run that is half over."""
REPEATS = 3
"""Runs of which the fastest counts: other work on the machine only slows."""


@lru_cache(maxsize=1)
def sample_seconds() -> float:
    """Return the processor seconds that the sample takes here."""
    # The simulation takes longer to import than most of what asks for a plan.
    from guidefbo.simulation.simulate import simulate

    seconds: list[float] = []
    with single_blas_thread():
        for _ in range(REPEATS):
            began = time.process_time()
            simulate("rastrigin", level=2, method="ucb", dim=10, **SAMPLE)
            seconds.append(time.process_time() - began)
    return min(seconds)
