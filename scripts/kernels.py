"""The processors whose rounding `./check --portable` tries, on the one that is there.

    python scripts/kernels.py                  # name, OPENBLAS_CORETYPE, features off
    python scripts/kernels.py --verify avx2    # is this process such a processor?

OpenBLAS has a kernel for every family of processors and takes the one it is told;
NumPy has variants of its loops and leaves out the features it is told to. Sums are
then taken in another order and products fused or not, as they are between machines.
"""

import argparse
import sys
from typing import NamedTuple

import numpy as np
import scipy.linalg  # noqa: F401 - loads an OpenBLAS of its own
from numpy._core import _multiarray_umath as umath
from threadpoolctl import threadpool_info


class Kernel(NamedTuple):
    """A family of processors."""

    core: str
    """What OpenBLAS is told."""
    reported: str
    """What it then says it uses."""
    needs: str
    """A feature the processor must have, as NumPy calls it; "" for none."""
    has: tuple[str, ...]
    """Features that NumPy keeps; releases differ in how they name them."""


AVX = ("AVX", "F16C")
AVX2 = (*AVX, "FMA3", "AVX2", "X86_V3")
AVX512 = (*AVX2, "AVX512F", "AVX512CD", "AVX512_SKX", "X86_V4")
KERNELS = {
    "old": Kernel("Prescott", "Katmai", "", ()),
    "avx": Kernel("Sandybridge", "Sandybridge", "AVX", AVX),
    "avx2": Kernel("Haswell", "Haswell", "AVX2", AVX2),
    "avx512": Kernel("SkylakeX", "SkylakeX", "AVX512F", AVX512),
}


def machine_has(feature: str) -> bool:
    """Whether Linux says that the processor has it."""
    with open("/proc/cpuinfo") as lines:
        flags = next((line for line in lines if line.startswith("flags")), "")
    return feature.lower() in flags.split()


def in_use() -> list[str]:
    """Return what NumPy's loops make use of, beside what every x86-64 has."""
    return [name for name in umath.__cpu_dispatch__ if umath.__cpu_features__[name]]


def switched_off(kernel: Kernel) -> list[str]:
    """Return what NumPy must leave out, of all it could use here."""
    return [name for name in in_use() if name not in kernel.has]


def listed() -> list[str]:
    """Return a line for each kernel that can be tried here."""
    names = [n for n, k in KERNELS.items() if not k.needs or machine_has(k.needs)]
    if len(names) < 3:
        sys.exit(
            "kernels: expected Linux on an x86-64 processor with AVX2 or more, found "
            f"{', '.join(names)} only. Run `./check` on the machine in question."
        )
    # Three that differ; the plainest of the wide ones only where there is no wider.
    if len(names) > 3:
        names.remove("avx")
    return [
        f"{name} {KERNELS[name].core} {','.join(switched_off(KERNELS[name]))}"
        for name in names
    ]


def verify(name: str) -> None:
    """Say what this process computes with; end with 1 where it is something else."""
    kernel = KERNELS[name]
    cores = [found["architecture"] for found in threadpool_info()]
    too_many = switched_off(kernel)
    print(f"{name}: OpenBLAS {cores}, NumPy {np.__version__} with {in_use()}")
    if set(cores) != {kernel.reported} or too_many:
        sys.exit(
            f"kernels: expected OpenBLAS {kernel.reported} and nothing beyond "
            f"{list(kernel.has)} in NumPy. Start with OPENBLAS_CORETYPE and "
            "NPY_DISABLE_CPU_FEATURES as `python scripts/kernels.py` lists them."
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--verify", choices=KERNELS, metavar="NAME")
    name = parser.parse_args().verify
    if name:
        verify(name)
    else:
        print(*listed(), sep="\n")
