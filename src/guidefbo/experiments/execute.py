"""What a worker does for one row: run it and hand back its record.

The record travels back and is written by the one process that started the study, so
workers on other machines need no common disk.
"""

import signal
import threading
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import guidefbo
from guidefbo.core.designs import sobol
from guidefbo.core.streams import Purpose, Streams
from guidefbo.experiments.commit import code_commit, with_commit
from guidefbo.experiments.evaluations_file import EVALUATIONS
from guidefbo.experiments.results import FAILURE_FORMAT, SIMILARITY_FORMAT
from guidefbo.experiments.study_json import VERSION
from guidefbo.methods.plugins import Plugin, load_plugin
from guidefbo.methods.record import Method
from guidefbo.methods.registry import find_method
from guidefbo.metrics.similarity import task_similarity
from guidefbo.metrics.timing import StageClock
from guidefbo.problems.files import given_code
from guidefbo.problems.library import make_problem
from guidefbo.problems.realworld.fedhpo_official import trust_pickles
from guidefbo.simulation.simulate import run
from guidefbo.simulation.spec import RunSpec

NUM_PROBES = 4096
"""Sobol points the agents' tasks are compared at."""


def execute(
    key: str,
    spec: Mapping[str, Any],
    *,
    measure: str,
    is_worker: bool,
    plugins: Sequence[Plugin] = (),
    records: Sequence[Method] = (),
    files: Sequence[Plugin] = (),
    trusts_pickle: bool = False,
) -> tuple[str, dict[str, Any]]:
    """Return the key and the record of a row, or the record of its failure.

    Args:
        key: Name of the record.
        spec: Fields of the run.
        measure: What is to be done with it.
        is_worker: Whether this is a process of its own. Ctrl-C reaches those too, and
            they leave it to the process that started them.
        plugins: Methods and problems of one's own, loaded once a process.
        records: Methods of one's own, entered once a process.
        files: Python files that problems are in, as they were when the study began.
        trusts_pickle: Whether pickles of an official archive may be opened, as was said
            where the study began.
    """
    if is_worker and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        if is_worker:
            trust_pickles(trusts_pickle)
        for plugin in plugins:
            load_plugin(plugin)
        for record in records:
            find_method(record)
        with given_code(files):
            return key, {"key": key, **MEASURES[measure](spec)}
    except (Exception, SystemExit) as error:  # one run's failure is not the study's
        return key, failure(spec, f"{type(error).__name__}: {error}", _trace(error))


def failure(spec: Mapping[str, Any], error: str, trace: str = "") -> dict[str, Any]:
    """Return the record of a failure."""
    return {
        "format": FAILURE_FORMAT,
        "version": VERSION,
        "spec": dict(spec),
        "error": error,
        "traceback": trace,
    }


def _run(spec: Mapping[str, Any]) -> dict[str, Any]:
    trace = run(RunSpec(**spec))
    return with_commit(trace.to_record()) | {EVALUATIONS: trace.evaluations}


def _compare_tasks(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of the similarity of one problem's tasks."""
    clock = StageClock()
    probes = sobol(NUM_PROBES, spec["dim"], Streams(0).at(Purpose.CANDIDATES))
    fields = {name: value for name, value in spec.items() if name != "seed"}
    name = fields.pop("problem")
    problem = make_problem(name, **fields, streams=Streams(spec["seed"]))
    values = np.stack([task.evaluate(probes) for task in problem.tasks])
    return {
        "format": SIMILARITY_FORMAT,
        "version": VERSION,
        "spec": dict(spec),
        "environment": {"guidefbo": guidefbo.__version__, "commit": code_commit()},
        "similarity": task_similarity(values),
        "seconds": clock.seconds(),
    }


MEASURES = {"run": _run, "similarity": _compare_tasks}


def _trace(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))
