from threadpoolctl import threadpool_info, threadpool_limits

import guidefbo  # noqa: F401 - loads NumPy's and SciPy's libraries
from guidefbo.core.threads import single_blas_thread


def numbers_of_threads():
    blas = [found for found in threadpool_info() if found["user_api"] == "blas"]
    return {found["num_threads"] for found in blas}


def test_one_thread_within_and_as_many_as_before_after():
    for before in (2, 1, 2):
        with threadpool_limits(before):
            with single_blas_thread(), single_blas_thread():
                assert numbers_of_threads() == {1}
            assert numbers_of_threads() == {before}
