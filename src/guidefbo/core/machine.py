"""The machine a result was made on, as far as it decides speed and rounding.

Its name is not told: records are passed on.
"""

import os
import platform
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from threadpoolctl import (  # pyright: ignore[reportMissingTypeStubs]
    threadpool_info,  # pyright: ignore[reportUnknownVariableType]
)

LINUX_PROCESSORS = Path("/proc/cpuinfo")
MODEL = "model name"
"""What the model of a processor is called there."""
MAX_LENGTH = 80
"""Characters of a model's name."""


@lru_cache(maxsize=1)
def machine() -> str:
    """Return the processor, its family, how many there are, and the BLAS's kernels.

    For example "AMD EPYC, x86_64, 2 processors, openblas Haswell".
    """
    count = os.cpu_count()
    parts = (_model(), platform.machine(), f"{count} processors", _kernels())
    return ", ".join(part for part in parts if part)


def _model() -> str:
    """Return the processor's name, "" where the system does not say."""
    try:
        lines = LINUX_PROCESSORS.read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    told = (line.partition(":")[2] for line in lines if line.startswith(MODEL))
    name = next(told, platform.processor())
    return " ".join(name.split())[:MAX_LENGTH]


def _kernels() -> str:
    """Return the libraries of linear algebra in use, each with its kernel."""
    libraries = cast(list[dict[str, Any]], threadpool_info())
    told = {
        f"{library['internal_api']} {library.get('architecture', '')}".strip()
        for library in libraries
        if library["user_api"] == "blas"
    }
    return " and ".join(sorted(told))
