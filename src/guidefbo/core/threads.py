"""One BLAS thread: the matrices are small and the parallelism is over runs."""

from contextlib import AbstractContextManager
from functools import lru_cache

from threadpoolctl import (  # pyright: ignore[reportMissingTypeStubs]
    ThreadpoolController,
)


def single_blas_thread() -> AbstractContextManager[object]:
    """Return a context in which linear algebra uses one thread."""
    return _controller().limit(  # pyright: ignore[reportUnknownMemberType]
        limits=1, user_api="blas"
    )


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    # To look for the libraries takes longer than many an answer, and those of NumPy and
    # SciPy are loaded before the first question.
    return ThreadpoolController()
