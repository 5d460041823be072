"""The problems on real data: what a listing says of them before any data are read."""

from dataclasses import dataclass, replace
from importlib import import_module
from types import ModuleType

from guidefbo.problems.own import Tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class RealProblem:
    """One problem on real data."""

    name: str
    """Name to ask for."""
    text: str
    """What its sites tune, in one line."""
    num_agents: int
    """Its sites."""
    num_initial: int
    """Initial evaluations of a site where a run does not say how many."""
    num_rounds: int
    """Rounds where a run does not say how many."""
    is_costly: bool = False
    """Whether evaluations take most of the time of a run."""

    def make(self, seed: int) -> Tasks:
        """Return its tasks. The data are looked for now."""
        tasks = getattr(self._module, self._name)(seed=seed)
        budget = {"num_initial": self.num_initial, "num_rounds": self.num_rounds}
        return replace(tasks, **budget, is_costly=self.is_costly)

    def data_code(self) -> dict[str, str]:
        """Return what its numbers depend on and the package's version does not tell.

        Versions or sha256 digests by name; nothing where there is one source of data,
        whose files are checked when they are read.
        """
        found = getattr(self._module, "data_code", None)
        return {} if found is None else found()

    @property
    def _name(self) -> str:
        return self.name.replace("-", "_")

    @property
    def _module(self) -> ModuleType:
        return import_module(f"guidefbo.problems.realworld.{self._name}")


REAL_PROBLEMS = (
    RealProblem(
        name="landmine",
        text="AUC of a support vector machine that detects landmines",
        num_agents=29,
        num_initial=30,
        num_rounds=50,
        is_costly=True,
    ),
    RealProblem(
        name="activity",
        text="accuracy of softmax regression that recognises activities",
        num_agents=30,
        num_initial=30,
        num_rounds=50,
        is_costly=True,
    ),
    RealProblem(
        name="fedhpo",
        text="accuracy of graph networks trained under federated averaging",
        num_agents=3,
        num_initial=30,
        num_rounds=50,
    ),
    RealProblem(
        name="warfarin",
        text="patients whom a clinic's dosing rule doses well",
        num_agents=21,
        num_initial=15,
        num_rounds=35,
    ),
    RealProblem(
        name="hpobench-mlp",
        text="accuracy of a multilayer perceptron, from a complete table",
        num_agents=8,
        num_initial=6,
        num_rounds=15,
    ),
    RealProblem(
        name="suzuki",
        text="yield of Suzuki reactions, emulated from experiments",
        num_agents=4,
        num_initial=5,
        num_rounds=15,
    ),
)
