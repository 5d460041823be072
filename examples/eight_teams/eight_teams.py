"""Eight teams that tune a neural network together, over the real service.

Each team has its own data set and tunes the same five settings of a network; nobody
shows anybody an accuracy. One command starts the coordinator on this machine, invites
the eight teams, lets each of them work through its own link as it would from another
building, and runs the same eight teams alone beside it. One team leaves for ten rounds
and comes back with a new invitation; one joins late, with the results it has by then.

    python examples/eight_teams/eight_teams.py --out eight_teams.svg

With `--through optuna` every team has a study of Optuna, with `--through botorch` a
loop of BoTorch, in the place of our own (`guidefbo[optuna]`, `guidefbo[botorch]`); with
`--through flower` letters travel inside a fleet of Flower (`guidefbo[flower]`), which
takes some ten seconds each.

The data set is looked for as `guidefbo run hpobench-mlp` does; where it is not there,
eight similar made-up functions take its place, and the output says so.
"""

import argparse
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import guidefbo as gf
from guidefbo.canvas import new_figure, tidy
from guidefbo.canvas.file import save_figure
from guidefbo.core.errors import DataError, GuidanceWarning
from guidefbo.problems.realworld.hpobench_mlp import LEVELS, SITES, hpobench_mlp

METHOD = "shape-nei"
AWAY = "kc1"
"""Leaves the federation for ten rounds."""
LATE = "credit_g"
"""Joins when others have worked for ten rounds."""
COMMAND = [sys.executable, "-m", "guidefbo"]


class Table:
    """A made-up accuracy: a hill over the grid, its top near that of the others."""

    def __init__(self, n: int) -> None:
        """Place the hill of one team."""
        stream = np.random.Generator(np.random.PCG64(n))
        common = np.array([0.3, 0.4, 0.6, 0.55, 0.7])
        self.top = np.clip(common + stream.normal(0.0, 0.08, 5), 0.05, 0.95)
        self.height = 0.8 + 0.15 * stream.random()
        self.grid = np.array([levels - 1 for levels in LEVELS.values()])

    def mean(self, values: dict[str, Any]) -> float:
        """Return the accuracy without noise."""
        x = np.array([values[name] for name in LEVELS]) / self.grid
        return float(self.height - 0.25 * ((x - self.top) ** 2).sum())

    def observe(self, values: dict[str, Any], stream: np.random.Generator) -> float:
        """Return the accuracy of one training run."""
        return self.mean(values) + 0.01 * float(stream.normal())

    def best(self) -> float:
        """Return the accuracy at the nearest setting of the grid."""
        nearest = np.round(self.top * self.grid).astype(int)
        return self.mean(dict(zip(LEVELS, nearest.tolist(), strict=True)))


def find_tasks() -> tuple[gf.Tasks, str]:
    """Return the eight teams' tasks and where they are from."""
    try:
        return hpobench_mlp(), "HPOBench, a network on eight data sets"
    except DataError as error:
        print(f"{error}\nEight made-up functions take its place.\n")
    tables = [Table(n) for n in range(len(SITES))]
    tasks = gf.Tasks(
        gf.Space(**{name: gf.Int(0, n - 1) for name, n in LEVELS.items()}),
        [table.mean for table in tables],
        goal="max",
        names=SITES,
        observers=[table.observe for table in tables],
        optima=[table.best() for table in tables],
    )
    return tasks, "eight made-up functions"


class Team:
    """One team: its agent's file, its task, and what it has reached."""

    def __init__(self, folder: Path, tasks: gf.Tasks, n: int, seed: int) -> None:
        """Begin with nothing."""
        self.file = folder / f"{tasks.names[n]}.json"
        self.name = tasks.names[n]
        self.tasks, self.n, self.seed = tasks, n, seed
        self.regrets: list[float] = []
        self.link: Any = None
        self.guided = 0

    def begin_alone(self, initial: int) -> None:
        """Make an agent of its own, in no federation yet."""
        agent = gf.Agent(
            self.tasks.space,
            goal="max",
            method=METHOD,
            seed=100 * self.seed + self.n,
            initial=initial,
        )
        agent.save(self.file)

    def work(self, count: int = 1) -> None:
        """Ask, train, tell."""
        observe = self.tasks.observers[self.n]
        with gf.Agent.update(self.file) as agent:
            for _ in range(count):
                trial = agent.ask()
                self.guided += trial.guided
                agent.tell(trial, observe(trial.values, self._luck(trial.id)))
            self.regrets.append(self._regret(agent))

    def sync(self) -> None:
        """Exchange, if the team is in the federation."""
        if self.link is not None:
            self.link.sync()

    def _luck(self, trial_id: int) -> np.random.Generator:
        """Return the noise of a trial: the same number, the same luck, however run."""
        return np.random.Generator(np.random.PCG64([self.seed, self.n, trial_id]))

    def _regret(self, agent: gf.Agent) -> float:
        """Return what the best setting tried so far lacks, without noise."""
        mean = self.tasks.functions[self.n]
        best = max(mean(dict(t.values)) for t in agent.trials if t.value is not None)
        return float(self.tasks.optima[self.n]) - best


class OptunaTeam(Team):
    """A team with a study of Optuna; its sampler exchanges before every trial."""

    study: Any = None

    def sync(self) -> None:
        """Leave it to the sampler."""

    def work(self, count: int = 1) -> None:
        """Let the study run."""
        import optuna

        from guidefbo.integrations.optuna import FederatedSampler

        if self.study is None:
            optuna.logging.set_verbosity(optuna.logging.WARNING)
            sampler = FederatedSampler(self.file)
            self.study = optuna.create_study(direction="maximize", sampler=sampler)
        self.study.optimize(self._objective, n_trials=count)
        for trial in self.study.trials[-count:]:
            self.guided += trial.system_attrs["guidefbo:asked"]["guided"]
        self.regrets.append(self._regret(gf.Agent.load(self.file)))

    def _objective(self, trial: Any) -> float:
        space = self.tasks.space.parameters
        values = {
            name: trial.suggest_int(name, p.low, p.high) for name, p in space.items()
        }
        return self.tasks.observers[self.n](values, self._luck(trial.number + 1))


class BotorchTeam(Team):
    """A team with a model and an acquisition of BoTorch, and uploads made from them."""

    def sync(self) -> None:
        """Exchange what the own model says."""
        if self.link is not None:
            from guidefbo.integrations import botorch as gfb

            gfb.post(self.link, self._fit(gf.Agent.load(self.file)))
            self.link.sync()

    def work(self, count: int = 1) -> None:
        """Choose by noisy expected improvement, train, tell."""
        observe = self.tasks.observers[self.n]
        with gf.Agent.update(self.file) as agent:
            for _ in range(count):
                is_early = len(agent.trials) < agent.setup.num_initial
                trial = agent.ask() if is_early else self._choose(agent)
                agent.tell(trial, observe(trial.values, self._luck(trial.id)))
            self.regrets.append(self._regret(agent))

    def _fit(self, agent: gf.Agent) -> Any:
        from botorch import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from gpytorch.mlls import ExactMarginalLogLikelihood

        from guidefbo.integrations import botorch as gfb

        X, Y = gfb.data(agent)
        model = SingleTaskGP(X, Y, covar_module=gfb.matern(X.shape[-1]))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model

    def _choose(self, agent: gf.Agent) -> Any:
        import torch
        from botorch.acquisition import qLogNoisyExpectedImprovement
        from botorch.optim import optimize_acqf
        from botorch.sampling import SobolQMCNormalSampler

        from guidefbo.integrations import botorch as gfb

        decided, transform = gfb.decision(agent, self._fit(agent))
        self.guided += str(agent.guidance.state) == "active"
        torch.manual_seed(len(agent.trials))
        acquisition = qLogNoisyExpectedImprovement(
            decided,
            gfb.data(agent)[0],
            sampler=SobolQMCNormalSampler(torch.Size([64]), seed=len(agent.trials)),
            posterior_transform=transform,
        )
        x, _ = optimize_acqf(
            acquisition, gfb.cube(agent), q=1, num_restarts=3, raw_samples=32
        )
        return gfb.begin(agent, x)


TEAMS = {"own": Team, "optuna": OptunaTeam, "botorch": BotorchTeam, "flower": Team}


@contextmanager
def coordinator(
    folder: Path, tasks: gf.Tasks, through: str
) -> Generator[tuple[Callable[[Team], str], str]]:
    """Create the federation and serve it; yield where a team finds it, and a store."""
    store = f"sqlite:///{folder / 'guidefbo.db'}"
    lines = [
        f'[parameters.{name}]\ntype = "int"\nlow = {p.low}\nhigh = {p.high}\n'
        for name, p in tasks.space.parameters.items()
    ]
    (folder / "space.toml").write_text("\n".join(lines))
    words = ["federation", "create", "teams", str(folder / "space.toml")]
    host(*words, "--goal", "max", "--method", METHOD, "--store", store)
    if through == "flower":
        sys.path.append(str(Path(__file__).parents[1] / "integrations"))
        from flower_fleet import fleet

        (folder / "fleet").mkdir()
        # Every visit of a node starts a process: a short pause would fill two cores.
        with fleet(folder / "fleet", store, tasks.names, minutes=120, pause=6.0):
            yield lambda team: f"folder:{folder / 'fleet' / team.name}", store
        return
    # Eight teams here are one address, and they do in minutes what takes weeks.
    fast = ["--rate-site", "0", "--rate-address", "0"]
    with (folder / "serve.log").open("w") as log:
        service = subprocess.Popen(
            [*COMMAND, "serve", "--store", store, "--port", "0", *fast],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    assert service.stdout is not None
    try:
        said = (line.split() for line in service.stdout)
        address = next((w[-1] for w in said if w[:1] == ["listening"]), None)
        if address is None:
            raise SystemExit((folder / "serve.log").read_text())
        yield lambda team: address, store
    finally:
        service.terminate()
        service.wait()
        service.stdout.close()


def host(*words: str) -> str:
    """Run a command of the host and return what it prints."""
    done = subprocess.run([*COMMAND, *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return done.stdout


def together(
    through: str,
    tasks: gf.Tasks,
    seed: int,
    initial: int,
    rounds: int,
    folder: Path,
) -> list[Team]:
    """Run the eight teams through the service."""
    # A team whose own results speak against the others works alone for a while, and the
    # table says how many of its runs were guided.
    warnings.filterwarnings("ignore", category=GuidanceWarning)
    folder.mkdir()
    teams = [TEAMS[through](folder, tasks, n, seed) for n in range(tasks.num_agents)]
    away, back = rounds // 3, rounds // 3 + min(10, rounds // 2)
    late = min(10, rounds // 2)
    with coordinator(folder, tasks, through) as (where, store):

        def join(team: Team) -> None:
            words = ["federation", "invite", "teams", team.name, "--store", store]
            code = host(*words).split()[0]
            team.link = gf.connect(team.file, where(team), code=code, patience=600.0)

        for team in teams:
            team.begin_alone(initial)
            team.work(initial)
            if team.name != LATE:
                join(team)
        for t in range(rounds):
            for team in teams:
                if team.name == LATE and t == late:
                    join(team)
                if team.name == AWAY and t == away:
                    team.link.leave()
                    team.link = None
                if team.name == AWAY and t == back:
                    join(team)
            for team in teams:
                team.sync()
                team.work()
            print(f"... round {t + 1} of {rounds}, together", file=sys.stderr)
        print(host("federation", "sites", "teams", "--store", store))
    return teams


def alone(
    through: str,
    tasks: gf.Tasks,
    seed: int,
    initial: int,
    rounds: int,
    folder: Path,
) -> list[Team]:
    """Run the same eight teams without each other."""
    folder.mkdir()
    teams = [TEAMS[through](folder, tasks, n, seed) for n in range(tasks.num_agents)]
    for team in teams:
        team.begin_alone(initial)
        team.work(initial)
        for _ in range(rounds):
            team.work()
        print(f"... {team.name}, alone", file=sys.stderr)
    return teams


def draw(path: Path, curves: dict[str, np.ndarray], initial: int, source: str) -> None:
    """Draw the mean regret of all teams, alone and together."""
    figure = new_figure(path, height=3.8)
    axes = figure.subplots()
    looks = {"alone": ("#757575", "--"), "together": ("#D55E00", "-")}
    for name, regrets in curves.items():
        colour, dash = looks[name]
        evaluations = initial + np.arange(regrets.shape[-1])
        mean = regrets.mean(axis=(0, 1))
        axes.plot(evaluations, 100 * mean, dash, color=colour, label=name)
        spread = regrets.mean(axis=1)
        if len(spread) > 1:
            error = spread.std(axis=0, ddof=1) / len(spread) ** 0.5
            low, high = 100 * (mean - error), 100 * (mean + error)
            axes.fill_between(evaluations, low, high, color=colour, alpha=0.2)
    axes.set_xlabel("training runs of each team")
    axes.set_ylabel("accuracy below the best, in points")
    axes.set_ylim(bottom=0)
    axes.set_title(f"Eight teams, {source}", fontsize=10)
    axes.legend(frameon=False)
    tidy(axes)
    save_figure(figure, path)
    print(f"wrote {path}")


def main() -> int:
    """Run both, print a table and draw a picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=24, help="rounds after the start")
    parser.add_argument("--initial", type=int, default=6, help="runs before them")
    parser.add_argument("--seeds", type=int, default=1, help="repetitions")
    parser.add_argument("--out", type=Path, help="the picture (svg, png, pdf)")
    parser.add_argument(
        "--through", choices=TEAMS, default="own", help="whose loop the teams have"
    )
    given = parser.parse_args()
    tasks, source = find_tasks()
    print(f"{source}; {given.initial} + {given.rounds} training runs of each team\n")
    runs: dict[str, list[list[Team]]] = {"alone": [], "together": []}
    with tempfile.TemporaryDirectory() as name:
        for seed in range(given.seeds):
            for how, run in (("alone", alone), ("together", together)):
                folder = Path(name) / f"{how}-{seed}"
                size = seed, given.initial, given.rounds, folder
                runs[how].append(run(given.through, tasks, *size))
    curves = {
        how: np.array([[team.regrets for team in teams] for teams in found])
        for how, found in runs.items()
    }
    print("accuracy below the best setting of the table, in points, at the end")
    print(f"{'team':<18} {'alone':>7} {'together':>9} {'guided runs':>12}")
    for n, team in enumerate(runs["together"][0]):
        note = {AWAY: "  away for ten rounds", LATE: "  joined late"}.get(team.name, "")
        own, shared = (100 * curves[how][:, n, -1].mean() for how in curves)
        guided = np.mean([teams[n].guided for teams in runs["together"]])
        print(f"{team.name:<18} {own:>7.2f} {shared:>9.2f} {guided:>12.1f}{note}")
    own, shared = (100 * curves[how][:, :, -1].mean() for how in curves)
    print(f"{'mean':<18} {own:>7.2f} {shared:>9.2f}")
    if given.out is not None:
        draw(given.out, curves, given.initial, source)
    return 0


if __name__ == "__main__":
    sys.exit(main())
