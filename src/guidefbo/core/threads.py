"""One BLAS thread: the matrices are small and the parallelism is over runs."""

from contextlib import AbstractContextManager

from threadpoolctl import threadpool_limits  # pyright: ignore[reportMissingTypeStubs]


def single_blas_thread() -> AbstractContextManager[object]:
    """Return a context in which linear algebra uses one thread."""
    return threadpool_limits(limits=1, user_api="blas")
