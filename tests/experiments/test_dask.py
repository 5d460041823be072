"""A study on a real Dask cluster: a scheduler and two workers, one of them killed."""

import signal
import time

import pytest
from tests.experiments.dask_cluster import cluster  # noqa: F401
from tests.experiments.tiny import NUM_RUNS, records, start, write_study

from guidefbo.core.errors import FedBOError
from guidefbo.experiments import workers
from guidefbo.experiments.run import run_study
from guidefbo.experiments.study import load_study

pytest.importorskip("distributed")
ROUNDS = 10


def test_a_study_survives_the_death_of_a_worker(cluster, tmp_path):  # noqa: F811
    address, parts = cluster
    path, out = write_study(tmp_path, rounds=ROUNDS), tmp_path / "out"
    words = ["--backend", "dask", "--address", address, "--out", out]
    words += ["--repetitions", 2]
    process = start("run", path, *words)
    deadline = time.monotonic() + 200
    while len(list((out / "runs").glob("*-*.json"))) < 2:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    parts[0].send_signal(signal.SIGKILL)
    _, said = process.communicate(timeout=240)
    assert process.returncode == 0, said
    assert f"{NUM_RUNS * 2 // 3} runs added" in said
    assert "0 failed" in said
    # The survivor's work is what one process here would have done.
    here = tmp_path / "here"
    run_study(load_study(str(path)), here, repetitions=1, jobs=1)
    assert records(here).items() <= records(out).items()


def test_an_address_nobody_answers_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "CONNECT_SECONDS", 1)
    study, address = load_study(str(write_study(tmp_path))), "tcp://127.0.0.1:9"
    words = "No Dask scheduler answers at tcp://127.0.0.1:9"
    with pytest.raises(workers.ClusterError, match=words) as caught:
        run_study(study, tmp_path / "out", backend="dask", address=address)
    # The command line says those in a sentence and ends with 2.
    assert isinstance(caught.value, FedBOError)
