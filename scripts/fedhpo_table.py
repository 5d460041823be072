"""Train the networks behind the problem fedhpo, and write its table.

    python scripts/fedhpo_table.py --data DIR [--minutes 60] [--level 1] [--seeds 1 2]

Every training that ends is one line of the work file (build/fedhpo.jsonl), so that a
run that was stopped goes on where it was. Grids come in levels, each of which holds the
one before; the coarse ones are trained first. The table of a level and its seeds is
written as soon as it is whole; --minutes 0 trains nothing and only writes.

What is trained stands in docs/problems/fedhpo.md. Almost all of the time goes into
products with sparse matrices, which use one core. With glibc, fixed thresholds of
malloc (MALLOC_MMAP_THRESHOLD_ and MALLOC_TRIM_THRESHOLD_ of 2000000000) save a third of
it on the two smaller graphs: memory is then not given back after every product.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy
import scipy.sparse as sp

from fedhpo_gcn import Config, Outcome, initial_weights, train
from fedhpo_graph import (
    NUM_TRAIN_PER_CLASS_AND_VAL,
    Part,
    cut_into_clients,
    make_part,
    read_graph,
    split_nodes,
)
from guidefbo.core.files import write_atomically
from guidefbo.core.streams import Streams

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "fedhpo.jsonl"
TABLE = ROOT / "src" / "guidefbo" / "problems" / "realworld" / "fedhpo_table.csv"
GRAPHS = tuple(NUM_TRAIN_PER_CLASS_AND_VAL)
NUM_CLIENTS, HIDDEN = 5, 64
LRS = (
    0.01,
    0.01668,
    0.02783,
    0.04642,
    0.07743,
    0.12915,
    0.21544,
    0.35938,
    0.59948,
    1.0,
)
"""Learning rates of the official table."""
WDS = (0.0, 0.001, 0.01, 0.1)
LEVELS = (
    {"dropout": (0.0, 0.5), "lr": (LRS[0], *LRS[6::3]), "step": (1, 4), "wd": WDS},
    {"dropout": (0.0, 0.5), "lr": LRS[::3], "step": (1, 4), "wd": WDS},
    {"dropout": (0.0, 0.5), "lr": LRS[::3], "step": (1, 2, 4), "wd": WDS},
    {"dropout": (0.0, 0.5), "lr": LRS[::3], "step": (1, 2, 4, 8), "wd": WDS},
    {"dropout": (0.0, 0.5), "lr": LRS, "step": (1, 2, 4, 8), "wd": WDS},
)
"""Grids, each holding the one before."""


COLUMNS = (
    *("graph", "seed", *Config._fields),
    *("val_acc", "val_loss", "test_acc", "best_round", "rounds", "seconds"),
)
"""Columns of the table."""


class Job(NamedTuple):
    """One training."""

    graph: str
    seed: int
    config: Config


def grid_of(level: int) -> list[Config]:
    """Return the configurations of a level, the cheap ones first."""
    configs = [Config(*c) for c in product(*LEVELS[level].values())]
    return sorted(configs, key=lambda c: c.step)


def prepared(folder: Path, name: str, seed: int):
    """Return what a seed decides of a graph: clients, split and first weights."""
    graph = read_graph(folder / f"planetoid_{name}.npz")
    return parts_of(graph, *NUM_TRAIN_PER_CLASS_AND_VAL[name], Streams(seed))


def parts_of(graph, per_class: int, num_val: int, streams: Streams):
    """Return features, the clients', validation and test parts, and first weights."""
    cut = cut_into_clients(graph, NUM_CLIENTS, streams.at("fedhpo: clients"))
    split = split_nodes(graph.labels, per_class, num_val, streams.at("fedhpo: split"))
    everything = np.arange(graph.num_nodes)
    weights = initial_weights(
        graph.features.shape[1],
        HIDDEN,
        int(graph.labels.max()) + 1,
        streams.at("fedhpo: first weights"),
    )
    clients: list[Part] = [make_part(graph, nodes, split.train) for nodes in cut]
    val = make_part(graph, everything, split.val)
    test = make_part(graph, everything, split.test)
    features = sp.csr_matrix(graph.features, dtype=np.float32)
    return features, clients, val, test, weights


def read_work(path: Path) -> dict[Job, dict]:
    """Return the trainings that have ended; a line cut off by a stop is left out."""
    done: dict[Job, dict] = {}
    if path.exists():
        for line in path.read_text().splitlines():
            try:
                row = json.loads(line)
            except ValueError:
                continue
            done[Job(row["graph"], row["seed"], Config(*row["config"]))] = row
    return done


def jobs_left(
    done: Iterable[Job], seeds: Iterable[int], last_level: int
) -> Iterator[Job]:
    """Yield what is to be trained, coarse grids first."""
    seen = set(done)
    for level, seed, graph in product(range(last_level + 1), seeds, GRAPHS):
        for config in grid_of(level):
            job = Job(graph, seed, config)
            if job not in seen:
                seen.add(job)
                yield job


def expected_seconds(job: Job, done: dict[Job, dict]) -> float:
    """Return what such a training took so far, by graph and local steps."""
    like = [
        row["seconds"] / (1 + job_done.config.step)
        for job_done, row in done.items()
        if job_done.graph == job.graph
    ]
    guess = {"cora": 1.0, "citeseer": 2.0, "pubmed": 8.0}[job.graph]
    return (1 + job.config.step) * (float(np.mean(like)) if like else guess)


def work(arguments: argparse.Namespace) -> dict[Job, dict]:
    """Train what is left while there is time, and return all that is done."""
    done = read_work(arguments.work)
    arguments.work.parent.mkdir(parents=True, exist_ok=True)
    jobs = list(jobs_left(done, arguments.seeds, arguments.level))
    began, ready, parts = time.process_time(), None, None
    with arguments.work.open("a") as out:
        if out.tell() and not arguments.work.read_bytes().endswith(b"\n"):
            out.write("\n")
        for number, job in enumerate(jobs):
            spent = time.process_time() - began
            if spent >= 60.0 * arguments.minutes:
                print(f"The time is used up: {len(jobs) - number} trainings are left.")
                break
            if ready != job[:2]:
                parts, ready = prepared(arguments.data, *job[:2]), job[:2]
            assert parts is not None
            start = time.process_time()
            rng = Streams(job.seed).at("fedhpo: dropout")
            outcome: Outcome = train(*parts, job.config, rng, arguments.rounds)
            row = {"graph": job.graph, "seed": job.seed, "config": list(job.config)}
            row |= outcome._asdict()
            row["seconds"] = round(time.process_time() - start, 2)
            done[job] = row
            out.write(json.dumps(row) + "\n")
            out.flush()
            left = sum(expected_seconds(j, done) for j in jobs[number + 1 :])
            print(
                f"{number + 1}/{len(jobs)} {job.graph} seed {job.seed} "
                f"{tuple(job.config)}: {outcome.val_acc:.4f} after "
                f"{outcome.num_rounds} rounds, {row['seconds']:.0f} s; "
                f"about {left / 60:.0f} min left",
                flush=True,
            )
    return done


def write_table(
    done: dict[Job, dict], seeds: list[int], level: int, data: Path, path: Path
) -> int:
    """Write the rows of a level and seeds, and return how many are missing.

    Nothing is written where any is missing.
    """
    jobs = [
        Job(graph, seed, config)
        for graph in GRAPHS
        for config in sorted(grid_of(level))
        for seed in seeds
    ]
    if missing := sum(job not in done for job in jobs):
        return missing
    rows = [done[job] for job in jobs]
    lines = [*heading(rows, seeds, data), ",".join(COLUMNS)]
    for job, row in zip(jobs, rows, strict=True):
        scores = (f"{row[name]:.6f}" for name in ("val_acc", "val_loss", "test_acc"))
        rest = (row["best_round"], row["num_rounds"], row["seconds"])
        cells = (job.graph, job.seed, *job.config, *scores, *rest)
        lines.append(",".join(map(str, cells)))
    write_atomically(path, "\n".join(lines) + "\n")
    return 0


def heading(rows: list[dict], seeds: list[int], data: Path) -> list[str]:
    """Return where the numbers come from, as comments."""
    minutes = sum(row["seconds"] for row in rows) / 60.0
    digests = (
        f"# planetoid_{g}.npz: sha256 "
        f"{sha256((data / f'planetoid_{g}.npz').read_bytes()).hexdigest()}"
        for g in GRAPHS
    )
    return [
        "# Regenerated for guidefbo by scripts/fedhpo_table.py; NOT the official table",
        "# of FedHPO-Bench. Two-layer GCNs under FedAvg: docs/problems/fedhpo.md.",
        f"# {len(rows)} trainings, seeds {', '.join(map(str, seeds))}, "
        f"{minutes:.0f} minutes of one core; seconds: of each training.",
        f"# NumPy {np.__version__}, SciPy {scipy.__version__}, float32.",
        *digests,
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--data", type=Path, required=True, help="folder of planetoid_NAME.npz"
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="of the processor")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--level", type=int, choices=range(len(LEVELS)), default=0)
    parser.add_argument("--rounds", type=int, default=500, help="fewer for a trial")
    parser.add_argument("--work", type=Path, default=WORK)
    parser.add_argument("--table", type=Path, default=TABLE)
    arguments = parser.parse_args()
    if arguments.rounds != 500 and arguments.work == WORK:
        parser.error("with other --rounds, name another --work file and --table")
    done = work(arguments)
    missing = write_table(
        done, arguments.seeds, arguments.level, arguments.data, arguments.table
    )
    if missing:
        print(f"The table is not written: {missing} trainings are missing.")
    else:
        print(f"Written: {arguments.table}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
