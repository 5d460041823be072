"""Another tool's optimiser in the place of our agent, alone at its site."""

from collections.abc import Mapping

import numpy as np

from guidefbo.agent.dataset import Dataset
from guidefbo.core.arrays import Point
from guidefbo.methods.record import Solver


class SolverAgent:
    """Lets a solver take part in rounds in which it exchanges nothing."""

    def __init__(self, solver: Solver, data: Dataset) -> None:
        """Wrap a solver that knows its initial observations."""
        self._solver = solver
        self._data = data

    @property
    def data(self) -> Dataset:
        """The observations."""
        return self._data

    @property
    def judgement(self) -> Mapping[str, float]:
        """Nothing: it compares no models."""
        return {}

    def fit(self) -> None:
        """Do nothing: the solver models when it is asked."""

    def choice(self) -> int:
        """Return which evaluation is the best so far, by what was observed."""
        return int(np.argmax(self._data.y))

    def upload(self) -> None:
        """Send nothing."""

    def receive(self, packet: object) -> None:
        """Take nothing."""

    def ask(self) -> Point:
        """Return the next query."""
        return self._solver.ask()

    def tell(self, x: Point, y: float) -> None:
        """Add the round's observation."""
        self._data = self._data.append(x[None], np.array([y]))
        self._solver.tell(x, y)
