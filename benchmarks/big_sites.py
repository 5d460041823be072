"""What it costs a site with thousands of results to fit its model to some of them.

    python benchmarks/big_sites.py [--results 1000,2000] [--most 500,750,1000] [--write]

The posterior of a site always uses all results. Its hyperparameters are fitted to at
most so many, evenly spread over the record: a fit is cubic in their number. Here the
same records are fitted to all results and to fewer, and what comes of it is compared:
the density of new results under the model, the error of its mean, and the true regret
of the next five questions of plain UCB. A record begins all over the box and closes in
on the optimum, as that of a campaign does. `--write` makes docs/results/big-sites.md.
"""

import argparse
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import guidefbo as gf
from guidefbo.agent.dataset import Dataset
from guidefbo.agent.missing import Missing
from guidefbo.agent.policy import Policy
from guidefbo.agent.surrogate.model import MAX_FIT, Fitted
from guidefbo.core.arrays import Points, Values
from guidefbo.core.streams import Address, Purpose, Streams
from guidefbo.core.threads import single_blas_thread
from guidefbo.experiments.commit import stamp
from guidefbo.problems.synthetic.function import SyntheticFunction
from guidefbo.problems.synthetic.functions import FUNCTIONS
from guidefbo.site.setup import Setup

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
NAMES = ("ackley", "rastrigin", "rosenbrock", "styblinski-tang")
DIM = 10
NOISE = 0.1
"""Standard deviation of the noise, in that of the values over the box."""
NUM_NEW, NUM_ASKED = 500, 5


@dataclass(frozen=True, slots=True)
class Site:
    """One objective: a test function whose optimum is off the centre of the box."""

    function: SyntheticFunction
    optimum: Values
    """Where it is, in the unit cube."""
    spread: float
    """Standard deviation of the values over the box."""

    @classmethod
    def of(cls, name: str, seed: int) -> "Site":
        """Return the site of a function and a seed."""
        function, stream = FUNCTIONS[name], Streams(seed).at(Purpose.TASK_SHIFT)
        site = cls(function, stream.uniform(0.3, 0.7, DIM), 1.0)
        return replace(site, spread=float(site.true(stream.random((4096, DIM))).std()))

    def true(self, X: Points) -> Values:
        """Return the values, to be maximised, without noise; none is above 0."""
        raw = self.function.maximiser(DIM) + self.function.width * (X - self.optimum)
        value = -self.function(raw) - self.function.maximum(DIM)
        return value / self.spread

    def record(self, count: int, stream: np.random.Generator) -> Dataset:
        """Return results that begin all over the box and close in on the optimum."""
        share = 1.0 - 0.8 * np.arange(count)[:, None] / count
        X = self.optimum + share * (stream.random((count, DIM)) - self.optimum)
        return Dataset(X=X, y=self.true(X) + NOISE * stream.standard_normal(count))


@dataclass(frozen=True, slots=True)
class Found:
    """What one fit came to."""

    seconds: float
    """Processor time of the fit."""
    density: float
    """Mean log density of new results, noise included."""
    error: float
    """Root mean square error of the mean at the same points."""
    regret: float
    """Mean true regret of the next questions."""


def judge(site: Site, policy: Policy, data: Dataset, seed: int) -> Found:
    """Fit the model and return how good it is."""
    began = time.process_time()
    fitted = policy.fit(data)
    seconds = time.process_time() - began
    new = site.record(NUM_NEW, Streams(seed).at(Purpose.BEST))
    gp, _, units = fitted
    mean, std = gp.predict(new.X)
    variance = std**2 + gp.hyper.noise_variance
    z = (units.to_model(new.y) - mean) ** 2 / variance
    # In the site's units, so that models with other units compare.
    slope = np.log(units.slope(new.y))
    density = float(np.mean(slope - 0.5 * (z + np.log(2.0 * np.pi * variance))))
    error = units.to_site(mean) - site.true(new.X)
    asked = questions(policy, fitted, seed)
    return Found(
        seconds=seconds,
        density=density,
        error=float(np.sqrt(np.mean(error**2))),
        regret=float(-site.true(asked).mean()),
    )


def questions(policy: Policy, fitted: Fitted, seed: int) -> Points:
    """Return the next questions, the earlier ones pending."""
    missing, asked = Missing.none(DIM), np.empty((0, DIM))
    for k in range(NUM_ASKED):
        address = Address(streams=Streams(seed), agent=0, t=k)
        x = policy.decide(fitted, None, 1 + k, address, replace(missing, pending=asked))
        assert x is not None
        asked = np.vstack([asked, x])
    return asked


def ratio(ours: Sequence[float], full: Sequence[float]) -> str:
    """Return the geometric mean of ratios, and its standard error."""
    logs = np.log(np.array(ours) / np.array(full))
    error = logs.std(ddof=1) / len(logs) ** 0.5 if len(logs) > 1 else 0.0
    return f"{np.exp(logs.mean()):.3f} ± {np.exp(logs.mean()) * error:.3f}"


def difference(ours: Sequence[float], full: Sequence[float]) -> str:
    """Return the mean of differences, and its standard error."""
    gaps = np.array(ours) - np.array(full)
    error = gaps.std(ddof=1) / len(gaps) ** 0.5 if len(gaps) > 1 else 0.0
    return f"{gaps.mean():+.4f} ± {error:.4f}"


def rows(n: int, sizes: Sequence[int], seeds: Sequence[int]) -> list[str]:
    """Return the lines of one number of results."""
    space = gf.Space(**{f"x{i}": gf.Float(0, 1) for i in range(DIM)})
    policy = Setup(space=space, goal="max", method="ucb").policy()
    counts = [count for count in sizes if count < n] + [n]
    found: dict[int, list[Found]] = {count: [] for count in counts}
    for name in NAMES:
        for seed in seeds:
            site = Site.of(name, seed)
            data = site.record(n, Streams(seed).at(Purpose.NOISE))
            for count in counts:
                model = replace(policy.model, most=count)
                with single_blas_thread():
                    one = judge(site, replace(policy, model=model), data, seed)
                found[count].append(one)
        print(f"... {n} results: {name}", file=sys.stderr, flush=True)
    lines: list[str] = []
    full = found[n]
    for count in counts:
        some = found[count]
        cells = [
            str(n),
            "all" if count == n else str(count),
            f"{np.median([one.seconds for one in some]):.2f}",
            difference([o.density for o in some], [o.density for o in full]),
            ratio([o.error for o in some], [o.error for o in full]),
            ratio([o.regret for o in some], [o.regret for o in full]),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", default="1000,2000", help="of a site")
    parser.add_argument("--most", default="500,750,1000", help="that a fit uses")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="write big-sites.md")
    parser.add_argument("--out", type=Path, default=RESULTS, help="docs/results")
    given = parser.parse_args()
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    sizes = [int(word) for word in given.most.split(",")]
    words = [f"--{n} {getattr(given, n)}" for n in ("results", "most", "seeds")]
    words.append(f"--first-seed {given.first_seed}")
    lines = [
        "# Big sites: how many results a fit needs",
        "",
        f"Written by `python benchmarks/big_sites.py {' '.join(words)} --write`: "
        f"{len(NAMES)} functions ({', '.join(NAMES)}), d = {DIM}, {given.seeds} seeds, "
        f"noise {NOISE:g} of the values' standard deviation. The posterior uses all "
        "results; its hyperparameters are fitted to at most so many, evenly spread "
        "over the record. Beside a fit to all results: the log density of "
        f"{NUM_NEW} new results (larger is better; in nats a result), the error of "
        f"the mean there, and the true regret of the next {NUM_ASKED} questions of "
        "plain UCB (ratios, smaller is better), ± standard error over functions and "
        f"seeds. guidefbo fits to {MAX_FIT}.",
        "",
        f"{platform.machine()}, Python {platform.python_version()}, NumPy "
        f"{np.__version__}; one BLAS thread, processor seconds.",
        "",
        stamp(),
        "",
        "| results | fitted to | seconds of a fit | density | error | regret |",
        "|---|---|---|---|---|---|",
    ]
    for n in map(int, given.results.split(",")):
        lines += rows(n, sizes, seeds)
    text = "\n".join(lines) + "\n"
    print(text)
    if given.write:
        (given.out / "big-sites.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
