"""Where rows are executed: this process, local processes, a Dask or a Ray cluster.

All of them are joblib backends, so the rest of the code does not depend on the choice.
"""

from collections.abc import (
    Callable,
    Collection,
    Generator,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from importlib import import_module
from typing import Any

from guidefbo.core.errors import FedBOError, SettingsError
from guidefbo.experiments.execute import execute, failure
from guidefbo.experiments.study_json import Row
from guidefbo.methods.plugins import Plugin
from guidefbo.methods.record import Method
from guidefbo.problems.files import code_of, is_file
from guidefbo.problems.realworld.fedhpo_official import is_trusted

BACKENDS = ("local", "dask", "ray")
"""Names of the places."""
CONNECT_SECONDS = 10
"""How long a cluster may take to answer."""
RUNS_AT_A_TIME = 3
"""Runs of each worker between two looks, where records come in lists."""
Record = tuple[str, dict[str, Any]]
"""Key of a row and the record of its run or of its failure."""


class ClusterError(FedBOError, OSError):
    """The cluster cannot be reached or was lost."""


def cluster(backend: str, address: str | None) -> AbstractContextManager[None]:
    """Return a context in which joblib sends its work to that place.

    Args:
        backend: One of `BACKENDS`.
        address: Of the cluster's scheduler; None starts a cluster on this machine.
    """
    _load("joblib", "study")
    if backend == "local":
        if address is not None:
            raise SettingsError(
                f"An address belongs to a cluster: add --backend dask or --backend "
                f"ray to --address {address}."
            )
        return nullcontext()
    return _CLUSTERS[backend](address)


def run_rows(
    rows: Iterable[Row],
    measure: str,
    *,
    jobs: int,
    backend: str,
    plugins: Sequence[Plugin] = (),
    records: Sequence[Method] = (),
) -> Iterator[Record]:
    """Execute rows and yield their records as they come.

    A worker that dies (killed, out of memory) takes the pool with it. The rows that
    were under way are then tried again, each alone, so that the one that kills its
    worker is found and recorded, and the others are not blamed.
    """
    deaths = _deaths(backend)
    waiting = {row.key: row for row in rows}
    do = partial(
        execute,
        measure=measure,
        plugins=tuple(plugins),
        records=tuple(records),
        files=_problem_files(waiting.values()),
        trusts_pickle=is_trusted(None),
    )
    while waiting:
        begun: dict[str, Row] = {}
        try:
            for key, record in _pool(tuple(waiting.values()), begun, do, jobs, backend):
                del waiting[key], begun[key]
                yield key, record
        except deaths:
            for key in begun:
                del waiting[key]
            yield from _one_by_one(begun.values(), do, backend, deaths)


def _problem_files(rows: Iterable[Row]) -> tuple[Plugin, ...]:
    """Return the Python files that problems of the rows are in."""
    names = dict.fromkeys(str(row.spec["problem"]) for row in rows)
    codes = {code_of(name) for name in names if is_file(name)}
    return tuple(code for code in codes if code is not None)


def _pool(
    rows: Collection[Row],
    begun: dict[str, Row],
    do: Callable[..., Record],
    jobs: int,
    backend: str,
) -> Iterator[Record]:
    """Execute rows, noting in `begun` which ones were handed out."""
    joblib = _load("joblib", "study")
    is_worker = jobs != 1 or backend != "local"
    workers = jobs if backend == "local" else -1

    def tasks(some: Iterable[Row]) -> Iterator[Any]:
        for row in some:
            begun[row.key] = row
            task = joblib.delayed(do)
            yield task(row.key, dict(row.spec), is_worker=is_worker)

    if backend == "ray":
        # Ray's pool hands back whole lists only: a few runs of each worker at a time.
        size = RUNS_AT_A_TIME * joblib.effective_n_jobs(workers)
        listed = tuple(rows)
        for first in range(0, len(listed), size):
            some = listed[first : first + size]
            yield from joblib.Parallel(n_jobs=workers, batch_size=1)(tasks(some))
        return
    # Runs last seconds: handing them out one by one costs nothing, and every record
    # is on disk as soon as it is there.
    parallel = joblib.Parallel(
        n_jobs=workers,
        batch_size=1,
        pre_dispatch="n_jobs",
        return_as="generator_unordered",
    )
    yield from parallel(tasks(rows))


def _one_by_one(
    rows: Iterable[Row],
    do: Callable[..., Record],
    backend: str,
    deaths: tuple[type[BaseException], ...],
) -> Iterator[Record]:
    for row in tuple(rows):
        try:
            # Two workers for one row: with one, joblib would work in this process.
            yield from _pool([row], {}, do, 2, backend)
        except deaths:
            text = "The worker process died (killed, or out of memory?)."
            yield row.key, failure(row.spec, text)


def _deaths(backend: str) -> tuple[type[BaseException], ...]:
    """Return what is raised where a worker died."""
    if backend == "dask":
        return (_load("distributed", "dask").KilledWorker,)
    if backend == "ray":
        return (_load("ray.exceptions", "ray").WorkerCrashedError,)
    loky = _load("joblib.externals.loky.process_executor", "study")
    return (loky.BrokenProcessPool,)


@contextmanager
def _dask(address: str | None) -> Generator[None, None, None]:
    distributed = _load("distributed", "dask")
    try:
        client = distributed.Client(
            address, set_as_default=False, timeout=CONNECT_SECONDS
        )
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"No Dask scheduler answers at {address}: {error}. Start one with "
            "`dask scheduler` and give its address, tcp://HOST:8786."
        ) from error
    with client, _load("joblib", "study").parallel_config("dask", client=client):
        yield


@contextmanager
def _ray(address: str | None) -> Generator[None, None, None]:
    ray = _load("ray", "ray")
    try:
        ray.init(address=address, log_to_driver=False)
    except Exception as error:  # Ray raises bare ones where a node does not start
        raise ClusterError(
            f"No Ray cluster answers at {address}: {error} Start one with "
            "`ray start --head` and give its address, HOST:6379."
        ) from error
    _load("ray.util.joblib", "ray").register_ray()
    try:
        with _load("joblib", "study").parallel_config("ray"):
            yield
    finally:
        ray.shutdown()


_CLUSTERS: dict[str, Callable[[str | None], AbstractContextManager[None]]] = {
    "dask": _dask,
    "ray": _ray,
}


def _load(module: str, extra: str) -> Any:
    """Return a module of an optional dependency."""
    try:
        return import_module(module)
    except ImportError as error:
        raise SettingsError(
            f"This needs the package {module.partition('.')[0]}. Install it with: "
            f"pip install 'guidefbo[{extra}]'"
        ) from error
