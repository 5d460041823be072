"""What a finished run left behind, as reports read it.

Records and packs come from anywhere: a field that is malformed counts as not there,
and an outcome without a curve and without a similarity is none.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Values
from guidefbo.core.errors import DataError
from guidefbo.core.run_record import (
    Numbers,
    is_number,
    list_of,
    numbers,
    numbers_of,
    texts,
)
from guidefbo.experiments.keys import Code, code_text

DIGITS = 7
"""Digits of the numbers in a pack: they tell any two apart that a table shows."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """What a finished run left behind, or what was measured in its place."""

    curve: Values | None = None
    """The main curve: the mean over the agents of the best value so far, where the
    problem's values have a name, and else the mean simple regret; after the initial
    design and after every round."""
    metric: Mapping[str, str] | None = None
    """Name, unit and direction (max or min) of `curve`; None: it is a regret."""
    curve_regret: Values | None = None
    """Mean simple regret where `curve` is a metric and the optima are known."""
    curve_inbox: Values | None = None
    """Mean simple regret against the best points inside the box, where they are known
    beside the reference of `curve`."""
    curve_cumulative: Values | None = None
    """Mean regret of all queries since round 1, added up, against the best value that
    each site can reach, where it is known."""
    site_finals: NDArray[np.float64] | None = None
    """The last value of every site, whose mean is the end of a metric's curve."""
    held_out: NDArray[np.float64] | None = None
    """Score of each site's final choice on data that its objective never saw."""
    source: str = ""
    """Where the numbers of the problem come from."""
    similarity: float | None = None
    """Task similarity, where that was measured and nothing was run."""
    scalars: Numbers = field(default_factory=dict[str, float])
    """Scalars per agent and round, up and down."""
    scalars_paper: Numbers = field(default_factory=dict[str, float])
    """The same by the paper's own accounting."""
    num_bytes: Numbers = field(default_factory=dict[str, float])
    """Bytes per agent and round, up and down."""
    seconds: Numbers = field(default_factory=dict[str, float])
    """Wall-clock seconds in total and per stage, and processor seconds in total."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """Versions the run was made with."""
    made_by: Code = field(default_factory=dict[str, str])
    """Code that computed it, as far as the record says so."""
    file: Path | None = None
    """The record it was read from; None of a pack."""

    @property
    def final(self) -> float:
        """The end of the main curve."""
        if self.curve is None:
            raise DataError("This result is a similarity and has no curve.")
        return float(self.curve[-1])

    @property
    def code(self) -> str:
        """What code made it, for people."""
        return code_text(self.parts)

    @property
    def parts(self) -> Code:
        """The same by part. A record that does not say has a version at best."""
        version = self.environment.get("guidefbo")
        return self.made_by or ({} if version is None else {"guidefbo": version})


def parse_outcome(form: Mapping[str, Any]) -> Outcome | None:
    """Return the outcome in a record or in an entry of a pack, None if malformed."""
    similarity = form.get("similarity")
    is_run = not is_number(similarity)
    regret = numbers_of(form.get("mean_simple_regret")) if is_run else None
    named = numbers_of(form.get("mean_metric")) if is_run else None
    curve = regret if named is None else named
    if is_run and curve is None:
        return None
    return Outcome(
        curve=curve,
        metric=None if named is None else _metric(texts(form.get("metric"))),
        curve_regret=None if named is None else regret,
        curve_inbox=numbers_of(form.get("regret_inbox")) if is_run else None,
        curve_cumulative=numbers_of(form.get("cumulative_regret")) if is_run else None,
        site_finals=None if named is None else _site_finals(form),
        held_out=numbers_of(form.get("held_out")),
        source=str(form.get("source", "")),
        similarity=None if is_run else float(cast(float, similarity)),
        scalars=numbers(form.get("scalars")),
        scalars_paper=numbers(form.get("scalars_paper")),
        num_bytes=numbers(form.get("bytes")),
        seconds=numbers(form.get("seconds")),
        environment=texts(form.get("environment")),
        made_by=texts(form.get("code")),
    )


def outcome_entry(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as it stands in a pack: the mean curves and the totals."""
    is_named = outcome.metric is not None
    arrays = {
        "mean_simple_regret": outcome.curve_regret if is_named else outcome.curve,
        "mean_metric": outcome.curve if is_named else None,
        "regret_inbox": outcome.curve_inbox,
        "cumulative_regret": outcome.curve_cumulative,
        "site_finals": outcome.site_finals,
        "held_out": outcome.held_out,
    }
    seconds = {name: round(value, 3) for name, value in outcome.seconds.items()}
    tables = {
        "metric": outcome.metric,
        "environment": outcome.environment,
        "scalars": outcome.scalars,
        "scalars_paper": outcome.scalars_paper,
        "bytes": outcome.num_bytes,
        "seconds": seconds,
        "code": outcome.made_by,
    }
    entry: dict[str, Any] = {
        name: [float(f"{value:.{DIGITS}g}") for value in array]
        for name, array in arrays.items()
        if array is not None
    }
    entry |= {name: dict(table) for name, table in tables.items() if table}
    entry |= {"source": outcome.source} if outcome.source else {}
    if outcome.similarity is not None:
        entry["similarity"] = outcome.similarity
    return entry


def _metric(form: Mapping[str, str]) -> dict[str, str]:
    return {
        "name": form.get("name") or "value",
        "unit": form.get("unit", ""),
        "direction": form.get("direction", form.get("goal", "max")),
    }


def _site_finals(form: Mapping[str, Any]) -> NDArray[np.float64] | None:
    """Return what each site reached: said by a pack, the last best values of a run."""
    last = next(reversed(list_of(form.get("best_value"))), None)
    return numbers_of(form.get("site_finals", last))
