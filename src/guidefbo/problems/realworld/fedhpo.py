"""Settings of a graph network that is trained by federated averaging: three graphs.

Each site tunes dropout, learning rate, local steps and weight decay of a two-layer
graph convolutional network on its own citation graph (Cora, CiteSeer, PubMed), which
five clients train together. There are two sources of the accuracies: a table that was
regenerated for this package by training such networks, and the official surrogate of
FedHPO-Bench where the user has its archive and trusts it.

References:
    Z. Wang et al., "FedHPO-Bench: A Benchmark Suite for Federated Hyperparameter
    Optimization", ICML 2023.
"""

from collections.abc import Sequence
from hashlib import sha256

from guidefbo.core.space.parameters import Choice, Float
from guidefbo.core.space.space import Space
from guidefbo.problems.own import Function, Tasks
from guidefbo.problems.realworld.fedhpo_official import is_trusted, read_forests
from guidefbo.problems.realworld.fedhpo_table import (
    GRAPHS,
    TABLE,
    read_trained,
    table_text,
)

NOISE = 1e-4
"""Standard deviation of the noise that the paper adds."""
OFFICIAL_STEPS = tuple(range(1, 9))
"""Local steps of the official space."""
OFFICIAL_DECAYS = (0.0, 0.001, 0.01, 0.1)
"""Weight decays of the official space."""


def fedhpo(seed: int = 0, *, trust_pickle: bool | None = None) -> Tasks:
    """Return three sites that each tune a graph network under federated averaging.

    Args:
        seed: Not used: the accuracies are the same in every run.
        trust_pickle: Whether to take the official surrogate and open its pickles, which
            may run any program. None: only where GUIDEFBO_TRUST_PICKLE is 1.
    """
    del seed
    return _official() if is_trusted(trust_pickle) else _regenerated()


def data_code() -> dict[str, str]:
    """Return which of the two sources is asked for now: runs on them are different."""
    if is_trusted(None):
        return {"FedHPO-Bench": "official surrogate"}
    return {TABLE: sha256(table_text().encode()).hexdigest()}


def _regenerated() -> Tasks:
    trained = list(read_trained().values())
    seeds = sorted({seed for part in trained for seed in part.seeds})
    steps, decays = zip(*trained[0].validation.scores, strict=True)
    return _tasks(
        sorted(set(steps)),
        sorted(set(decays)),
        [part.validation for part in trained],
        optima=[part.validation.best() for part in trained],
        held_out=[part.test for part in trained],
        source=(
            "regenerated table, not the official one: graph networks trained for this "
            "package under FedAvg on Cora, CiteSeer and PubMed (setting of "
            f"FedHPO-Bench, Wang et al. 2023), seeds {', '.join(map(str, seeds))}, "
            "interpolated in dropout and log learning rate"
        ),
    )


def _official() -> Tasks:
    return _tasks(
        OFFICIAL_STEPS,
        OFFICIAL_DECAYS,
        read_forests(GRAPHS),
        optima=None,
        held_out=None,
        source=(
            "official surrogate of FedHPO-Bench (Wang et al. 2023): mean of its random "
            "forests for GCN and FedAvg, all clients, last round"
        ),
    )


def _tasks(
    steps: Sequence[int],
    decays: Sequence[float],
    functions: Sequence[Function],
    *,
    optima: Sequence[float] | None,
    held_out: Sequence[Function] | None,
    source: str,
) -> Tasks:
    """Return the problem with what both sources have in common."""
    return Tasks(
        Space(
            dropout=Float(0.0, 0.5),
            lr=Float(0.01, 1.0, log=True),
            step=Choice(*steps),
            wd=Choice(*decays),
        ),
        functions,
        goal="max",
        names=GRAPHS,
        noise=NOISE,
        optima=optima,
        held_out=held_out,
        metric="validation accuracy",
        settings={"num_paths": 300, "sampler": "exact"},
        source=source,
    )
