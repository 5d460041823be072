"""What do a site's uploads reveal to somebody who knows the protocol?

    python scripts/reveal.py [--seeds 410,411] [--out DIR] [--toy] [--again]

Federations are run in this process and all uploads are kept. An attacker who reads the
uploads of one site, and who knows the data of all other sites, guesses the site's best
point, its objective at the points it queried, the queries themselves, and its number of
results. Tables of how well that works go to docs/results/reveal.md, all numbers to
reveal.json beside it; with `--toy` of few sites and rounds, which takes seconds and
means nothing; with `--again` the page is written from the numbers that are there.
hpobench-mlp is left out, and the page says so, where its data are missing.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.decision.search import SearchSettings, maximise_acquisition
from guidefbo.agent.decision.ts import PathAcquisition
from guidefbo.agent.paths.shared import SharedPath, shared_map
from guidefbo.agent.strategies.shape.features import polynomials
from guidefbo.core.arrays import Matrix, Point, Points, Values
from guidefbo.core.domain import Domain
from guidefbo.core.errors import DataError
from guidefbo.core.streams import Purpose, Streams
from guidefbo.core.threads import single_blas_thread
from guidefbo.experiments.commit import stamp
from guidefbo.methods.registry import find_method
from guidefbo.problems.datasets.find import find_dataset
from guidefbo.simulation.assemble import assemble, lay_out
from guidefbo.simulation.evaluation import Evaluations, build_problem, measuring
from guidefbo.simulation.spec import RunSpec
from guidefbo.wire.shape import DEGREES, PLACE

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
Reals = NDArray[np.float64]
METHODS = ("shape-ucb", "guide-ucb", "consensus-ucb", "cgp-ucb", "fts")
HIT = 0.01
"""A query counts as read where a guess is so near, root mean square by coordinate."""
RECENT = 5
"""Newest draws of FTS that are averaged."""
RIDGE = 1e-2
"""Penalty of the learned attacks, relative to the spread of what they see."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One task, and how long it is run."""

    name: str
    problem: str
    fields: Mapping[str, Any]
    """Further fields of the run."""


def off_centre(problem: str, dim: int, initial: int, rounds: int, agents: int) -> Case:
    """Return a synthetic task at Level 2, moved off the centre."""
    fields = {
        "level": 2,
        "common_shift": 0.3,
        "dim": dim,
        "num_agents": agents,
        "num_initial": initial,
        "num_rounds": rounds,
    }
    return Case(name=f"{problem}, d = {dim}", problem=problem, fields=fields)


TABLE = Case(
    name="hpobench-mlp",
    problem="hpobench-mlp",
    fields={"num_initial": 6, "num_rounds": 15},
)
FULL = (
    off_centre("levy", 4, 12, 15, 16),
    off_centre("styblinski-tang", 4, 12, 15, 16),
    off_centre("levy", 10, 20, 15, 16),
    TABLE,
)
TOY = (off_centre("sphere", 2, 4, 3, 3),)


@dataclass(frozen=True, kw_only=True)
class Site:
    """What one site did and sent."""

    uploads: list[Any]
    """One message a round."""
    X: Points
    """Inputs observed before the last upload."""
    y: Values
    """Values observed there."""
    queries: Points
    """What was asked in each round but the last, so that another upload followed."""
    counts: Values
    """Results behind each upload."""

    @property
    def best(self) -> Point:
        """The observed point of highest observed value."""
        return self.X[int(np.argmax(self.y))]


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What an attacker knows of a run beside the uploads."""

    domain: Domain
    streams: Streams
    """Those of the shared features of FTS: every site has them."""


@dataclass(frozen=True, kw_only=True)
class Attack:
    """How the messages of one strategy are read."""

    place: Callable[[Sequence[Any], Scene], Point]
    """(uploads up to a round) -> where the site's best point seems to be."""
    surface: Callable[[Sequence[Any], Scene, Points], Values]
    """(all uploads, points) -> the site's objective there, up to level and scale."""
    traces: Callable[[Any], Matrix]
    """An upload -> numbers that belong to each coordinate, (d, k); (d, 0): none."""
    traits: Callable[[Any], list[float]]
    """An upload -> numbers that may tell of how many results it was made."""


@dataclass(kw_only=True)
class Recorder:
    """An agent whose uploads are kept."""

    agent: Any
    uploads: list[Any] = field(default_factory=list[Any])

    def upload(self) -> Any:
        """Return the agent's upload and keep it."""
        self.uploads.append(self.agent.upload())
        return self.uploads[-1]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.agent, name)


# How messages are read.


def trend(message: Any, X: Points) -> Reals:
    """Return what each coordinate adds to the trend of a shape upload, (n, d).

    Estimates are shrunk by their variances, as those of a prior N(0, 1) would be.
    """
    shrunk = {
        kind: b / (1.0 + v)
        for kind, b, v in zip(
            message.kinds, message.means, message.variances, strict=True
        )
    }
    values = dict(zip(DEGREES, polynomials(X - 0.5), strict=True))
    return np.sum([b * values[k] for k, b in shrunk.items() if k in values], axis=0)


def named_place(uploads: Sequence[Any], scene: Scene) -> Point:
    """Return the place of the optimum that the newest shape upload names."""
    message = uploads[-1]
    place = 0.5 + message.means[message.kinds.index(PLACE)]
    return scene.domain.snap(place[None])[0]


def bump(center: Point, variance: Reals | float, X: Points) -> Values:
    """Return the logarithm of a normal density, up to a constant."""
    return -0.5 * ((X - center) ** 2 / variance).sum(axis=1)


def averaged(uploads: Sequence[Any], scene: Scene) -> SharedPath:
    """Return the mean of the newest functions that an FTS site drew."""
    weights = np.mean([u.weights for u in uploads[-RECENT:]], axis=0)
    features = shared_map(scene.streams, len(weights), scene.domain.dim)
    return SharedPath(features=features, weights=weights)


def highest(uploads: Sequence[Any], scene: Scene) -> Point:
    """Return where that mean is highest."""
    x = maximise_acquisition(
        PathAcquisition(path=averaged(uploads, scene)),
        scene.domain,
        SearchSettings(num_raw=256, num_starts=4),
        Streams(0).at(Purpose.SEARCH),
    )
    assert x is not None
    return x


def of_component(u: Any) -> Matrix:
    """Return centre and log standard deviation of each coordinate."""
    return np.column_stack([u.center, np.log(u.variance)])


ATTACKS: Mapping[str, Attack] = {
    "shape-ucb": Attack(
        place=named_place,
        surface=lambda us, scene, X: trend(us[-1], X).sum(axis=1),
        traces=lambda u: np.column_stack([*u.means, *map(np.log, u.variances)]),
        traits=lambda u: [float(np.log(v).mean()) for v in u.variances],
    ),
    "guide-ucb": Attack(
        place=lambda us, scene: us[-1].center,
        surface=lambda us, scene, X: bump(us[-1].center, us[-1].variance, X),
        traces=of_component,
        traits=lambda u: [u.mass, float(np.log(u.variance).mean()), u.value_score],
    ),
    "consensus-ucb": Attack(
        place=lambda us, scene: us[-1].center,
        surface=lambda us, scene, X: bump(us[-1].center, us[-1].variance, X),
        traces=of_component,
        traits=lambda u: [float(np.log(u.variance).mean()), u.value_score],
    ),
    "cgp-ucb": Attack(
        place=lambda us, scene: us[-1].design,
        surface=lambda us, scene, X: bump(us[-1].design, 1.0, X),
        traces=lambda u: u.design[:, None],
        traits=lambda u: [u.best_mean - u.lower_bound, u.lower_bound],
    ),
    "fts": Attack(
        place=highest,
        surface=lambda us, scene, X: averaged(us, scene).value(X),
        traces=lambda u: np.empty((0, 0)),
        traits=lambda u: [float(np.log(np.linalg.norm(u.weights)))],
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="410,411", help="seeds, with commas")
    parser.add_argument("--out", type=Path, default=RESULTS, help="docs/results")
    parser.add_argument("--toy", action="store_true", help="a size that takes seconds")
    parser.add_argument("--again", action="store_true", help="write the page anew")
    given = parser.parse_args()
    if not given.again:
        form = measure([int(seed) for seed in given.seeds.split(",")], given.toy)
        text = json.dumps(form) + "\n"
        (given.out / "reveal.json").write_text(text, encoding="utf-8")
    form = json.loads((given.out / "reveal.json").read_text(encoding="utf-8"))
    text = page(form)
    (given.out / "reveal.md").write_text(text, encoding="utf-8")
    print(text)
    return 0


def measure(seeds: Sequence[int], is_toy: bool) -> dict[str, Any]:
    """Run all federations and return how well each of their sites is guessed."""
    cases, missing = (TOY if is_toy else FULL), ""
    try:
        if TABLE in cases:
            find_dataset("hpobench_mlp")
    except DataError:
        cases = tuple(case for case in cases if case is not TABLE)
        missing = "hpobench-mlp is left out: its data are not here."
    rows: dict[str, dict[str, dict[str, list[float]]]] = {}
    with single_blas_thread():
        for case in cases:
            rows[case.name] = {}
            for method in METHODS:
                found = [audit(method, *run(case, method, seed)) for seed in seeds]
                rows[case.name][method] = {
                    key: [round(v, 6) for part in found for v in part[key]]
                    for key in found[0]
                }
                print(f"{case.name}, {method}", file=sys.stderr, flush=True)
    sizes = {
        case.name: f"{case.fields.get('num_agents', 'all')} sites, "
        f"{case.fields['num_initial']} + {case.fields['num_rounds']} evaluations"
        for case in cases
    }
    return {
        "seeds": list(seeds),
        "sizes": sizes,
        "missing": missing,
        "stamp": stamp(),
        "sites": rows,
    }


def run(case: Case, name: str, seed: int) -> tuple[list[Site], Scene]:
    """Run a federation and return what every site did and sent."""
    spec = RunSpec(problem=case.problem, method=name, seed=seed, **case.fields)
    problem, method, streams = build_problem(spec), find_method(name), Streams(seed)
    settings = method.check_run(
        {k: v for k, v in problem.settings.items() if k in method.run_settings}
    )
    with measuring(spec, problem, 1) as measure:
        made = Evaluations(measure)
        design = lay_out(method, settings, problem, spec.num_initial, streams)
        federation = assemble(
            method, settings, problem, design, made.make(design, 0), streams=streams
        )
        agents = [Recorder(agent=agent) for agent in federation.agents]
        federation.agents = agents
        for t in range(1, spec.num_rounds + 1):
            federation.round(t, made.one_each)
    first, last = spec.num_initial, spec.num_initial + spec.num_rounds - 1
    sites = [
        Site(
            uploads=agent.uploads,
            X=X[:last],
            y=y[:last],
            queries=X[first:last],
            counts=np.arange(first, last + 1.0),
        )
        for agent, X, y in zip(agents, made.queries, made.observed, strict=True)
    ]
    return sites, Scene(domain=problem.space.domain, streams=streams)


def audit(method: str, sites: list[Site], scene: Scene) -> dict[str, list[float]]:
    """Return how well every site is guessed, by what is guessed and how."""
    attack = ATTACKS[method]
    count = len(sites)
    places = [
        np.stack([attack.place(sent[:t], scene) for t in range(1, len(sent) + 1)])
        for sent in (site.uploads for site in sites)
    ]
    traces = [
        [_traces(attack, u, x) for u, x in zip(site.uploads, found, strict=True)]
        for site, found in zip(sites, places, strict=True)
    ]
    traits = [np.array([attack.traits(u) for u in s.uploads]) for s in sites]
    found: dict[str, list[float]] = {}

    def note(key: str, value: float) -> None:
        found.setdefault(key, []).append(float(value))

    for n, site in enumerate(sites):
        others = [k for k in range(count) if k != n]
        best = site.best
        # Its best point.
        note("best: message", distance(places[n][-1], best))
        bests = {k: sites[k].best for k in others}
        last = [trace[-1] for trace in traces]
        note("best: learned", distance(learn(bests, last, last[n])[0], best))
        mean = np.mean([sites[k].best for k in others], axis=0)
        note("best: others", distance(mean, best))
        note("best: centre", distance(np.full(len(best), 0.5), best))
        # Its objective where it looked.
        surfaces = [
            standardised(attack.surface(sites[k].uploads, scene, site.X))
            for k in range(count)
        ]
        note("surface: message", correlation(surfaces[n], site.y))
        pooled = np.mean([surfaces[k] for k in others], axis=0)
        note("surface: others", correlation(pooled, site.y))
        centre = bump(np.full(len(best), 0.5), 1.0, site.X)
        note("surface: centre", correlation(centre, site.y))
        # Its queries.
        note("queries: read", read(site.queries, places[n]))
        note("queries: by chance", read(site.queries, places[(n + 1) % count]))
        queries = {k: sites[k].queries for k in others}
        steps = [_steps(trace) for trace in traces]
        guess = learn(queries, steps, steps[n])
        usual = np.mean([sites[k].queries.mean(axis=0) for k in others], axis=0)
        note("queries: learned", rms(guess - site.queries))
        note("queries: usual", rms(usual - site.queries))
        # Its number of results.
        rows = np.concatenate([traits[k] for k in others])
        target = np.concatenate([np.log(sites[k].counts) for k in others])
        number = np.exp(ridge(rows, target, traits[n]))
        note("number: body", np.abs(number / site.counts - 1.0).mean())
        usual_number = np.exp(target.mean())
        note("number: usual", np.abs(usual_number / site.counts - 1.0).mean())
    return found


def _traces(attack: Attack, upload: Any, place: Point) -> Matrix:
    """Return what an upload says of each coordinate, the place read off it first."""
    told = attack.traces(upload)
    return np.column_stack([place, told]) if told.size else place[:, None]


def _steps(traces: Sequence[Matrix]) -> Matrix:
    """Return what two uploads, before and after a query, say of each coordinate."""
    return np.concatenate(
        [np.hstack([a, b, b - a, (b - a) ** 2]) for a, b in pairwise(traces)]
    )


def learn(known: Mapping[int, Reals], traces: Sequence[Matrix], asked: Matrix) -> Reals:
    """Return guesses of points, from those of sites that are known.

    What is learned, coordinate by coordinate, is how points differ from the mean of the
    other sites' points; where messages tell nothing of that, the mean is guessed.

    Args:
        known: Points of the other sites, (d,) or (k, d), by their numbers.
        traces: What the messages of every site say, (k d, numbers).
        asked: What those of the site in question say.
    """
    means = {k: np.atleast_2d(points).mean(axis=0) for k, points in known.items()}
    total, count = np.sum(list(means.values()), axis=0), len(means)
    rows: list[Matrix] = []
    target: list[Values] = []
    for k, points in known.items():
        usual = (total - means[k]) / max(count - 1, 1)
        size = len(np.atleast_2d(points))
        rows.append(np.column_stack([traces[k], np.tile(usual, size)]))
        target.append((points - usual).ravel())
    usual = np.tile(total / count, len(asked) // len(total))
    found = ridge(
        np.concatenate(rows), np.concatenate(target), np.column_stack([asked, usual])
    )
    return (usual + found).reshape(-1, len(total))


def ridge(rows: Matrix, target: Values, asked: Matrix) -> Values:
    """Return predictions of a linear model with its squares, fitted with a penalty."""
    rows, asked = (np.hstack([Z, Z**2]) for Z in (rows, asked))
    mean, scale = rows.mean(axis=0), rows.std(axis=0) + 1e-12
    Z, Q = (rows - mean) / scale, (asked - mean) / scale
    level = target.mean()
    A = Z.T @ Z / len(Z) + RIDGE * np.eye(Z.shape[1])
    weights = np.linalg.solve(A, Z.T @ (target - level) / len(Z))
    # No further than what was seen: a square far outside would say anything.
    return np.clip(level + Q @ weights, target.min(), target.max())


def distance(a: Point, b: Point) -> float:
    """Return the root mean square difference of two points, by coordinate."""
    return rms(a - b)


def rms(difference: Reals) -> float:
    """Return the root mean square of some differences."""
    return float(np.sqrt(np.mean(difference**2)))


def read(queries: Points, guesses: Points) -> float:
    """Return the share of queries that lie next to a guess."""
    gaps = np.sqrt(((queries[:, None] - guesses) ** 2).mean(axis=2))
    return float((gaps.min(axis=1) <= HIT).mean())


def standardised(values: Values) -> Values:
    """Return values of mean 0 and standard deviation 1, zeros where all are equal."""
    spread = values.std()
    return (values - values.mean()) / spread if spread > 1e-12 else 0.0 * values


def correlation(a: Values, b: Values) -> float:
    """Return Pearson's correlation, 0 where one of the two does not vary."""
    return float(np.mean(standardised(a) * standardised(b)))


# The page.


def page(form: Mapping[str, Any]) -> str:
    """Return the page with its tables."""
    rows = form["sites"]
    told = "; ".join(f"{name}: {size}" for name, size in form["sizes"].items())
    opening = (
        f"Written by `python scripts/reveal.py --seeds "
        f"{','.join(map(str, form['seeds']))}`. {told}. Synthetic tasks at Level 2, "
        f"common shift 0.3, noise 0.1. {form['missing']}"
    )
    lines = [
        "# What uploads reveal",
        "",
        opening.strip(),
        "",
        form["stamp"],
        "",
        *INTRODUCTION,
        "",
        "## In short",
        "",
        *SHORT,
        "",
        *summary(rows),
        "",
        *BEYOND,
        "",
        "## The best point",
        "",
        *BEST,
        "",
        *table(rows, "best", ("message", "learned", "others", "centre"), 3),
        "",
        "## The objective where the site looked",
        "",
        *SURFACE,
        "",
        *table(rows, "surface", ("message", "others", "centre"), 2),
        "",
        "## The queries",
        "",
        *QUERIES,
        "",
        *table(rows, "queries", ("read", "by chance", "learned", "usual"), 3),
        "",
        "## The number of results",
        "",
        *NUMBER,
        "",
        *table(rows, "number", ("body", "usual"), 3),
    ]
    return "\n".join(lines) + "\n"


INTRODUCTION = (
    "An attacker reads all uploads of one site, knows the protocol, and in the columns "
    "*learned* also knows the data of all other sites of the federation: the worst "
    "case of a server and peers that work together. Each number is a mean over sites "
    "and seeds ± standard error over sites. Sites of one run hear of each other, so "
    "that these errors are somewhat too small. What no upload is needed for stands "
    "beside it: a message reveals what goes beyond that.",
    "",
    "The attacks are ours and simple; a better one reveals more. `shape`: the place "
    "and the trend of the newest upload, its coefficients shrunk by their variances. "
    "`guide` and `consensus`: centre and variances of the newest upload as a normal "
    "density. `cgp`: the newest design, and nearness to it. `fts`: the mean of the "
    "last five drawn functions, which any site can evaluate, since all have the seed "
    "of the features. `shared-data` is not in the tables: it sends all observations.",
)
SHORT = (
    "Means over the tasks. *Best point*: the smaller of the two errors of the attacks "
    "below, by message or learned, divided by the error of the mean of the other "
    "sites' best points: 1 says that the messages reveal nothing of it. *Objective*: "
    "how much of the variance of the site's values that the other sites' messages "
    "leave unexplained its own explain, 0 being nothing. *Queries*: error of learned "
    "queries divided by the usual one. *Number*: the error from the body divided by "
    "the usual one.",
)
BEYOND = (
    "Beyond these: `cgp` sends two levels of its posterior in the site's own unit, so "
    "that its best value is told outright; `guide` and `consensus` send the lower "
    "bound at their place in standard deviations of the site's values. The "
    "coefficients of `shape` have no level and no unit of the site's.",
)
BEST = (
    "Root mean square distance by coordinate, in widths of the box, from the site's "
    "best observed point: of the place the newest message names (*message*); of a "
    "place learned from messages and best points of the other sites (*learned*); of "
    "the mean of the other sites' best points, which needs no message of this site "
    "(*others*); of the middle of the box (*centre*). Small is revealing, where it is "
    "below the two on the right.",
)
SURFACE = (
    "Correlation of the site's observed values with the function that the attacker "
    "reads off its messages, at the points it observed. *Others*: with the mean of the "
    "functions read off all other sites' messages. *Centre*: with the nearness to the "
    "middle of the box. 1 is all, up to level and unit.",
)
QUERIES = (
    "*Read*: share of the site's queries that lie within 0.01 of a place that one of "
    "its messages names; *by chance*: of a place that another site's messages name. "
    "*Learned*: root mean square error of each coordinate of a query, guessed from the "
    "uploads before and after it and their difference, as learned from the other "
    "sites; *usual*: of the mean of the other sites' queries.",
)
NUMBER = (
    "The envelope tells it: the sequence number of a real site's upload *is* its "
    "number of results, and whoever counts uploads knows how many came since. Below "
    "is the mean relative error from the body of a single upload, without envelope "
    "and history, as learned from the other sites (*body*), beside the one of "
    "always guessing their mean (*usual*). In simulations the sequence number is the "
    "round.",
)


def summary(
    rows: Mapping[str, Mapping[str, Mapping[str, list[float]]]],
) -> list[str]:
    """Return one line a method, means over the tasks."""
    lines = [
        "| method | best point | objective | queries | number |",
        "|---|---:|---:|---:|---:|",
    ]
    for method in METHODS:
        each: list[list[float]] = []
        for by_method in rows.values():
            mean = {k: float(np.mean(v)) for k, v in by_method[method].items()}
            best = min(mean["best: message"], mean["best: learned"])
            own, others = mean["surface: message"] ** 2, mean["surface: others"] ** 2
            each.append(
                [
                    best / mean["best: others"],
                    max(own - others, 0.0) / (1.0 - others),
                    mean["queries: learned"] / mean["queries: usual"],
                    mean["number: body"] / mean["number: usual"],
                ]
            )
        cells = (f"{value:.2f}" for value in np.mean(each, axis=0))
        lines.append(f"| `{method}` | {' | '.join(cells)} |")
    return lines


def table(
    rows: Mapping[str, Mapping[str, Mapping[str, list[float]]]],
    what: str,
    ways: Sequence[str],
    places: int,
) -> list[str]:
    """Return the lines of one table."""
    lines = [
        f"| task | method | {' | '.join(ways)} |",
        "|---|---|" + "---:|" * len(ways),
    ]
    for case, by_method in rows.items():
        for method, found in by_method.items():
            cells = [_cell(found[f"{what}: {way}"], places) for way in ways]
            lines.append(f"| {case} | `{method}` | {' | '.join(cells)} |")
    return lines


def _cell(values: Sequence[float], places: int) -> str:
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{np.mean(values):.{places}f} ± {error:.{places}f}"


if __name__ == "__main__":
    sys.exit(main())
