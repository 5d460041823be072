"""Do the others help? What guidance does at a site, in numbers and in plain words."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np

from guidefbo.agent.record import record_of
from guidefbo.core.space.goal import SIGNS
from guidefbo.core.space.overshoot import nearest
from guidefbo.core.space.parameters import Choice, Parameter
from guidefbo.site.agent import Agent
from guidefbo.site.labels import Labels
from guidefbo.site.summary import Held
from guidefbo.site.trial import Origin, Trial

WORTH_SAYING = 1.5
"""Odds below it are no news."""
NUM_LAST = 3
"""How many of the last guided questions are told of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Detour:
    """What a guided question would have been without the others."""

    trial: Trial
    """The question."""
    alone: dict[str, Any]
    """What would have been asked."""
    distance: float
    """How far apart the two are: the share of a parameter's range by which it differs,
    one where it is another option, on average over all parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surprise:
    """How results compare with what the own model expected when it asked."""

    num_results: int
    """Results of questions the model asked."""
    num_better: int
    """How many of them were better than its mean."""
    mean: float
    """By how much on average, in its standard deviations; worse is negative."""

    @classmethod
    def of(cls, trials: Sequence[Trial]) -> "Surprise":
        """Return the comparison for trials that have a basis and a value."""
        z = np.array([surprise_of(trial) for trial in trials])
        return cls(
            num_results=len(z),
            num_better=int((z > 0.0).sum()),
            mean=float(z.mean()) if len(z) else 0.0,
        )

    def __str__(self) -> str:
        mean = f"{self.mean:+.2f}" if abs(self.mean) < 1e4 else f"{self.mean:+.3g}"
        return f"{self.num_better} of {self.num_results}, on average by {mean}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Help:
    """What guidance does at a site."""

    held: Held
    """What is held, whether it is used, and what the own data say of it."""
    detours: tuple[Detour, ...]
    """The last guided questions beside what would have been asked without guidance."""
    guided: Surprise
    """Results of guided questions."""
    alone: Surprise
    """Results of questions that the model asked without guidance."""
    scores: tuple[float, ...] = ()
    """By how much the others' model foretold each result better than the own data
    alone, in logarithms of odds; in the order of telling."""

    @property
    def num_foretold_better(self) -> int:
        """Results that the others' model foretold better than the own data alone."""
        return sum(score > 0.0 for score in self.scores)

    @property
    def record(self) -> float:
        """What counts against the others for what they foretold; at most zero."""
        return record_of(self.scores)

    def lines(self, labels: Labels) -> list[str]:
        """Return the same in sentences; none where nothing was ever held."""
        return [
            *self._held_line(labels),
            *([] if self.held.verdict is None else [self.held.verdict]),
            *self._detour_line(labels),
            *self._surprise_line(),
            *self._foretold_line(),
        ]

    def _held_line(self, labels: Labels) -> list[str]:
        held = self.held
        if held.order is None:
            return []
        num = held.num_others
        text = "the others (1 site)" if num == 1 else f"the others ({num} sites)"
        if held.place is None:
            return [f"{text} send a function or a model, which names no place"]
        text += f" point to {labels.values(held.place)}"
        if held.expected is not None and held.rank is not None:
            text += (
                f"; your own model expects {labels.outcome(held.expected)} there, "
                f"better than {100.0 * held.rank:.0f} % of your results"
            )
        return [text]

    def _detour_line(self, labels: Labels) -> list[str]:
        if not self.detours:
            return []
        parts = ", ".join(
            f"trial {d.trial.id} by {d.distance:.2f}" for d in self.detours
        )
        newest = self.detours[-1]
        return [
            f"without the others the last guided questions would have differed, in "
            f"shares of the ranges: {parts}; trial {newest.trial.id} would have been "
            f"{labels.values(newest.alone)}"
        ]

    def _surprise_line(self) -> list[str]:
        if not self.guided.num_results:
            return []
        text = (
            f"guided results better than your model expected: {self.guided} of its "
            "standard deviations"
        )
        if self.alone.num_results:
            text += f"; asked alone: {self.alone}"
        return [text]

    def _foretold_line(self) -> list[str]:
        if not self.scores:
            return []
        text = (
            f"the others' model foretold {self.num_foretold_better} of "
            f"{len(self.scores)} results better than your own data alone would have"
        )
        odds = exp(-self.record)
        if odds >= WORTH_SAYING:
            text += f"; what it missed counts against it, by odds of {odds:.3g}"
        return [text]


def surprise_of(trial: Trial) -> float:
    """Return how much better a result was than expected, in standard deviations."""
    assert trial.basis is not None
    assert trial.value is not None
    gain = SIGNS[trial.goal] * (trial.value - trial.basis.mean)
    return gain / max(trial.basis.std, 1e-300)


def help_of(agent: Agent) -> Help:
    """Return what guidance does at an agent; the model is fitted, if need be."""
    return help_with(agent, agent.summary().held)


def help_with(agent: Agent, held: Held) -> Help:
    """Return what guidance does at an agent.

    Args:
        agent: The agent; of the model nothing is asked.
        held: What is held of the others, and what the model says of that.
    """
    # What was run elsewhere says nothing of what was expected where it was asked.
    # Of points that others chose nobody knows whether guidance took part.
    done = [t for t in agent.followed if t.basis and t.origin == Origin.MODEL]
    guided = [
        (t, t.basis.alone)
        for t in agent.trials
        if t.guided and t.basis is not None and t.basis.alone is not None
    ]
    return Help(
        held=held,
        detours=tuple(
            _detour(agent, trial, alone) for trial, alone in guided[-NUM_LAST:]
        ),
        guided=Surprise.of([t for t in done if t.guided]),
        alone=Surprise.of([t for t in done if not t.guided]),
        scores=agent.scores,
    )


def _detour(agent: Agent, trial: Trial, alone: dict[str, Any]) -> Detour:
    apart = [
        _apart(parameter, trial.values[name], alone[name])
        for name, parameter in agent.space.parameters.items()
    ]
    return Detour(trial=trial, alone=alone, distance=sum(apart) / len(apart))


def _apart(parameter: Parameter, a: Any, b: Any) -> float:
    if isinstance(parameter, Choice):
        return float(a != b)
    # Asked when the bounds were others, perhaps; then the bound stands for it.
    first, second = (parameter.to_unit(nearest(parameter, v, np.inf)) for v in (a, b))
    return abs(first - second)
