"""Drive the eight teams through each adapter and compare with our own loop.

    python scripts/teams_through.py [--through own,optuna,botorch,flower] [--seeds 0,1]
                                    [--runs DIR] [--kept] [--write]

The teams are those of examples/eight_teams: alone, and together over the real service
or a fleet of Flower, with one team away for a while and one that joins late. Every run
is kept as a file in --runs, so that a call that was stopped goes on where it was; runs
of another size are made again, and the page names the commits of all. `--write` makes
docs/results/eight-teams.md; with `--kept` of the runs that are there, and none is made.
Needs the extras of the adapters, which fit into one environment:
`guidefbo[optuna,botorch,flower,service]`.
"""

import argparse
import hashlib
import json
import platform
import sys
import tempfile
import time
import warnings
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

import guidefbo as gf
from guidefbo.experiments.commit import code_commit, stamp

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
sys.path.append(str(ROOT / "examples" / "eight_teams"))
PACKAGES = {"own": (), "optuna": ("optuna",), "botorch": ("botorch", "torch"),
            "flower": ("flwr",)}  # fmt: skip
WORDS = {
    "own": "our own loop, over HTTP",
    "optuna": "Optuna, over HTTP",
    "botorch": "BoTorch, over HTTP",
    "flower": "our own loop, over Flower",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """What one team asked and where it ended."""

    name: str
    asked: list[list[Any]]
    """Values of its trials in the order of asking."""
    guided: int
    """Trials that were asked with the others' guidance."""
    lacks: float
    """What its best setting lacks of the best there is, in points of accuracy."""
    packet: str | None
    """Digest of the packet it holds at the end, None where it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The eight teams once, alone or together."""

    through: str
    seed: int
    how: str
    initial: int
    rounds: int
    source: str
    """Where the tasks are from."""
    commit: str
    teams: list[Reached]
    wall: float
    """Seconds."""
    busy: float
    """Processor seconds of the teams' own process."""
    versions: dict[str, str]

    @property
    def lacks(self) -> float:
        """The mean of the teams."""
        return sum(team.lacks for team in self.teams) / len(self.teams)


def reached(team: Any) -> Reached:
    """Return what a team has done."""
    agent = gf.Agent.load(team.file)
    held = None if team.link is None else team.link.mailbox.incoming()
    return Reached(
        name=team.name,
        asked=[list(trial.values.values()) for trial in agent.trials],
        guided=team.guided,
        lacks=100.0 * team.regrets[-1],
        packet=None if held is None else _digest(held.packet),
    )


def _digest(packet: str) -> str:
    return hashlib.sha256(packet.encode()).hexdigest()


def run(through: str, seed: int, how: str, given: Any, commit: str) -> Run:
    """Run the teams once."""
    import eight_teams

    tasks, source = eight_teams.find_tasks()
    drive = {"alone": eight_teams.alone, "together": eight_teams.together}[how]
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        if through == "botorch":
            warnings.simplefilter("ignore")  # of PyTorch and what stands on it
        began = time.perf_counter(), time.process_time()
        folder = Path(name) / "teams"
        teams = drive(through, tasks, seed, given.initial, given.rounds, folder)
        ended = time.perf_counter(), time.process_time()
        return Run(
            through=through,
            seed=seed,
            how=how,
            initial=given.initial,
            rounds=given.rounds,
            source=source,
            commit=commit,
            teams=[reached(team) for team in teams],
            wall=ended[0] - began[0],
            busy=ended[1] - began[1],
            versions={name: version(name) for name in PACKAGES[through]},
        )


def load(path: Path) -> Run | None:
    """Return a run that was kept."""
    if not path.exists():
        return None
    kept = json.loads(path.read_text(encoding="utf-8"))
    return Run(**{**kept, "teams": [Reached(**team) for team in kept["teams"]]})


def runs_of(given: Any) -> dict[tuple[str, int, str], Run]:
    """Return the runs that are asked for; those that are not there are made now."""
    given.runs.mkdir(parents=True, exist_ok=True)
    commit, found = code_commit(), {}
    for seed in given.seeds:
        for through in given.through:
            for how in ("alone", "together"):
                # Alone nothing is carried: with Flower it is our own loop.
                if (through, how) == ("flower", "alone"):
                    continue
                path = given.runs / f"{through}-{seed}-{how}.json"
                kept = load(path)
                size = given.initial, given.rounds
                if kept is None or (kept.initial, kept.rounds) != size:
                    if given.kept:
                        continue
                    print(f"... {through}, seed {seed}, {how}", file=sys.stderr)
                    kept = run(through, seed, how, given, commit)
                    path.write_text(json.dumps(asdict(kept)) + "\n", encoding="utf-8")
                found[through, seed, how] = kept
    return found


def table(runs: dict[tuple[str, int, str], Run]) -> list[str]:
    """Return one row for each adapter and seed, beside our own loop."""
    lines = [
        "| teams | seed | alone | together | guided | same questions | same packets |"
        " s of processor | s of wall |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (through, seed, how), each in runs.items():
        if how == "alone":
            continue
        alone = runs.get((through, seed, "alone")) or runs["own", seed, "alone"]
        own = runs["own", seed, "together"]
        pairs = list(zip(each.teams, own.teams, strict=True))
        both = [p for a, b in pairs for p in zip(a.asked, b.asked, strict=True)]
        same = f"{sum(a == b for a, b in both)} of {len(both)}"
        packets = f"{sum(a.packet == b.packet for a, b in pairs)} of {len(pairs)}"
        cells = [
            WORDS[through],
            str(seed),
            f"{alone.lacks:.3f}",
            f"{each.lacks:.3f}",
            str(sum(team.guided for team in each.teams)),
            "-" if through == "own" else same,
            "-" if through == "own" else packets,
            f"{each.busy:.0f}",
            f"{each.wall:.0f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def page(runs: dict[tuple[str, int, str], Run], given: Any) -> str:
    """Return the page."""
    first = next(iter(runs.values()))
    versions = {k: v for each in runs.values() for k, v in each.versions.items()}
    lines = [
        "# The eight teams through each adapter",
        "",
        "Written by `python scripts/teams_through.py --write`: the teams of "
        "`examples/eight_teams` with the same tasks, seeds and luck, driven by our own "
        "loop, by studies of Optuna and by loops of BoTorch over the real service, and "
        "by our own loop with its letters inside a fleet of Flower (SuperLink, eight "
        f"SuperNodes, TLS, node keys). Tasks: {first.source}. {given.initial} + "
        f"{given.rounds} training runs of each team; one team is away for a while and "
        "one joins late. Accuracy below the best setting, in points, mean of the eight "
        "teams at the end; less is better. Guided: training runs that were chosen with "
        "the others' guidance. Same questions: of all training runs, those at the "
        "settings of our own loop, in order. Same packets: teams that hold, byte for "
        "byte, the packet that they hold with our own loop. Seconds: of the teams' own "
        "process, together; a coordinator and Flower's processes are not in it. Other "
        "work ran beside it.",
        "",
        f"{platform.machine()}, Python {platform.python_version()}, "
        + ", ".join(f"{name} {text}" for name, text in versions.items())
        + ".",
        "",
        stamp(*(each.commit for each in runs.values())),
        "",
        *table(runs),
        "",
        *reasons(runs),
    ]
    return "\n".join(lines) + "\n"


def reasons(runs: dict[tuple[str, int, str], Run]) -> list[str]:
    """Return why rows are equal, or are not; only what the rows show."""
    lines: list[str] = []
    for through in ("optuna", "flower"):
        mine = [key for key in runs if key[0] == through]
        if not mine:
            continue
        is_same = all(
            [(t.asked, t.guided, t.packet, t.lacks) for t in runs[key].teams]
            == [(t.asked, t.guided, t.packet, t.lacks) for t in own.teams]
            for key in mine
            for own in [runs["own", key[1], key[2]]]
        )
        why = {
            "optuna": "the sampler asks the same agent that our own loop asks",
            "flower": "letters do not depend on who carries them",
        }[through]
        held = "equal to our own loop in every question, packet and result"
        lines.append(
            f"- {WORDS[through]}: {held}; {why}."
            if is_same
            else f"- {WORDS[through]}: NOT equal to our own loop, though {why}."
        )
    if any(key[0] == "botorch" for key in runs):
        lines.append(
            f"- {WORDS['botorch']}: the first settings are the agent's design and so "
            "the same. The others are not, because a BoTorch user's own parts choose "
            "them: hyperparameters are fitted by BoTorch, under its priors of scale "
            "and noise; the acquisition is `qLogNoisyExpectedImprovement` on 64 "
            "samples, not our closed form; and `optimize_acqf` searches the cube "
            "without steps, after which the nearest setting is taken, while our search "
            "looks at the settings. So few rounds and seeds do not say which "
            "is better. Uploads are made from these models, so that packets differ as "
            "well. With equal hyperparameters posteriors and uploads are equal "
            "([BoTorch](../integrations/botorch.md#how-equal-is-equal))."
        )
    return lines


def main() -> int:
    """Run what is missing, print the table and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--through", default=",".join(WORDS), help="with commas")
    parser.add_argument("--seeds", default="0,1", help="with commas")
    parser.add_argument("--initial", type=int, default=5, help="runs before the rounds")
    parser.add_argument("--rounds", type=int, default=3, help="rounds after the start")
    runs = ROOT / "build" / "eight-teams"
    parser.add_argument("--runs", type=Path, default=runs, help="where runs are kept")
    parser.add_argument("--kept", action="store_true", help="run nothing more")
    parser.add_argument("--write", action="store_true", help="eight-teams.md to --out")
    parser.add_argument("--out", type=Path, default=RESULTS, help="docs/results")
    given = parser.parse_args()
    wanted = given.through.split(",")
    unknown = sorted(set(wanted) - WORDS.keys())
    if unknown:
        parser.error(f"expected {', '.join(WORDS)}; got {', '.join(unknown)}")
    # Our own loop first: the others are compared with it.
    given.through = [name for name in WORDS if name in {"own", *wanted}]
    given.seeds = [int(text) for text in given.seeds.split(",")]
    with threadpool_limits(limits=1):
        found = runs_of(given)
    print("\n".join([*table(found), "", *reasons(found)]))
    if given.write:
        text = page(found, given)
        (given.out / "eight-teams.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
