"""A study's runs laid out for tables: conditions, problems, contenders, seeds.

Specs come from files and are not trusted: a field may be missing or of any type.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from guidefbo.core.checks import is_finite_number, plain
from guidefbo.experiments.results import MethodNote, Outcome, Row, StudyResults

Field = int | float | str | None
Samples = Mapping[Field, Outcome | None]
"""The seeds that were asked for, None where there is no result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What the runs of one table share; `None` where a spec does not say."""

    dim: Field = 10
    level: Field = 2
    common_shift: Field = 0.0
    noise: Field = 0.1
    noise_units: Field = "scaled"
    num_agents: Field = 16
    num_initial: Field = 30
    num_rounds: Field = 50

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> "Conditions":
        """Return the conditions of a spec."""
        return cls(**{name: field_of(spec.get(name)) for name in cls.__slots__})

    @property
    def is_papers(self) -> bool:
        """Whether the paper's synthetic tables were made under these conditions."""
        return self == Conditions(level=self.level)

    @property
    def label(self) -> str:
        """The level and whatever is not as in the paper."""
        usual = Conditions()
        parts = [f"Level {self.level}"]
        if self.common_shift not in (None, usual.common_shift):
            parts.append(f"common shift {_short(self.common_shift)}")
        if self.noise is not None and (self.noise, self.noise_units) != (0.1, "scaled"):
            parts.append(f"noise {_short(self.noise)} {self.noise_units}")
        if self.dim not in (None, usual.dim):
            parts.append(f"d = {self.dim}")
        if self.num_agents not in (None, usual.num_agents):
            parts.append(f"{self.num_agents} agents")
        if self.num_rounds is not None and (self.num_initial, self.num_rounds) != (
            usual.num_initial,
            usual.num_rounds,
        ):
            parts.append(f"{self.num_initial} + {self.num_rounds} evaluations")
        return ", ".join(parts)

    @property
    def slug(self) -> str:
        """The label as part of a file's name."""
        return slug(self.label)

    @property
    def order(self) -> tuple[Any, ...]:
        """What to sort by: level last, so that levels of one kind stand together."""
        names = [name for name in self.__slots__ if name != "level"]
        return tuple(_sortable(getattr(self, name)) for name in (*names, "level"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A column: a method with its settings, or a variant of the study."""

    label: str
    """What the column is called; no two contenders of a frame share it."""
    method: str
    """Name of the method, empty where nothing was run."""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False)
    """Settings that are not at their default."""
    variant: str | None = None
    """Name the study gives it."""
    note: MethodNote | None = field(default=None, compare=False)
    """What is known of the method, None where the study's files do not say."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Frame:
    """All runs of a study by conditions, problem, contender and seed."""

    results: StudyResults
    """Where they come from."""
    cells: Mapping[tuple[Conditions, str, Contender], Samples]
    """In the order of the study."""

    @property
    def conditions(self) -> tuple[Conditions, ...]:
        """Every set of conditions, in order."""
        return tuple(sorted({c for c, _, _ in self.cells}, key=lambda c: c.order))

    def problems(self, conditions: Conditions | None = None) -> tuple[str, ...]:
        """Return the problems that were asked for, in the order of the study."""
        named = (p for c, p, _ in self.cells if conditions in (None, c))
        return tuple(dict.fromkeys(named))

    def contenders(self, conditions: Conditions | None = None) -> tuple[Contender, ...]:
        """Return the contenders that were asked for, in the order of the study."""
        named = (k for c, _, k in self.cells if conditions in (None, c))
        return tuple(dict.fromkeys(named))

    def samples(self, conditions: Conditions, problem: str, who: Contender) -> Samples:
        """Return the runs of a cell; none where nothing was asked for."""
        return self.cells.get((conditions, problem, who), {})

    def finals(
        self, conditions: Conditions, problem: str, who: Contender
    ) -> dict[Field, float]:
        """Return the final regrets that are there, by seed."""
        found = self.samples(conditions, problem, who).items()
        return {s: o.final for s, o in found if o is not None and o.curve is not None}

    def is_complete(self, conditions: Conditions, problem: str, who: Contender) -> bool:
        """Whether every run of a cell that was asked for is there, and one was."""
        samples = self.samples(conditions, problem, who)
        return bool(samples) and all(o is not None for o in samples.values())


def lay_out(results: StudyResults, rows: Iterable[Row] | None = None) -> Frame:
    """Return the frame of a study, or of some of its rows."""
    chosen = tuple(results.rows if rows is None else rows)
    named = _contenders(chosen, results.methods)
    cells: dict[tuple[Conditions, str, Contender], dict[Field, Outcome | None]] = {}
    for row in chosen:
        place = (
            Conditions.of(row.spec),
            str(row.spec.get("problem", "")),
            named[_identity(row)],
        )
        seed = field_of(row.spec.get("seed"))
        cells.setdefault(place, {})[seed] = results.outcomes.get(row.key)
    return Frame(results=results, cells=cells)


def slug(text: str) -> str:
    """Return a text as part of a file's name.

    >>> slug("Level 2, common shift 0.3")
    'level-2-common-shift-0.3'
    """
    kept = "".join(
        c if c.isascii() and (c.isalnum() or c == ".") else "-" for c in text
    )
    words = "-".join(word for word in kept.lower().split("-") if word)
    return words.strip(".") or "study"


def settings_of(row: Row) -> dict[str, Any]:
    """Return a row's settings that are not at their default."""
    settings = row.spec.get("settings")
    if not isinstance(settings, Mapping):
        return {}
    given = cast(Mapping[Any, Any], settings)
    return {str(name): field_of(given[name]) for name in sorted(given, key=str)}


def setting_text(name: str, value: object) -> str:
    """Return a setting as it is written on the command line."""
    return f"{name}={_short(value)}"


def _contenders(
    rows: tuple[Row, ...], notes: Mapping[str, MethodNote]
) -> dict[tuple[Any, ...], Contender]:
    varying = _varying(rows)
    found: dict[tuple[Any, ...], Contender] = {}
    labels: set[str] = set()
    for row in rows:
        identity = _identity(row)
        if identity in found:
            continue
        method = str(row.spec.get("method", ""))
        settings = settings_of(row)
        texts = {k: setting_text(k, v) for k, v in settings.items()}
        told = [texts[k] for k in settings if k in varying.get(method, set())]
        label = row.variant or " ".join([method, *told]) or "runs"
        if label in labels:
            label = f"{label} ({' '.join([method, *texts.values()])})"
        while label in labels:
            label += "'"
        labels.add(label)
        found[identity] = Contender(
            label=label,
            method=method,
            settings=settings,
            variant=row.variant,
            note=notes.get(method),
        )
    return found


def _varying(rows: tuple[Row, ...]) -> dict[str, set[str]]:
    """Return for each method the settings in which its unnamed rows differ."""
    seen: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row.variant is None:
            listed = seen.setdefault(str(row.spec.get("method", "")), [])
            settings = settings_of(row)
            if settings not in listed:
                listed.append(settings)
    return {
        method: {
            name
            for name in {key for settings in listed for key in settings}
            if any(s.get(name) != listed[0].get(name) for s in listed)
        }
        for method, listed in seen.items()
    }


def _identity(row: Row) -> tuple[Any, ...]:
    return (
        row.variant,
        str(row.spec.get("method", "")),
        tuple(settings_of(row).items()),
    )


def field_of(value: Any) -> Field:
    """Return a value of a file as something that can be compared and shown."""
    value = plain(value)
    if value is None or isinstance(value, str) or is_finite_number(value):
        return value
    return str(value)


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _sortable(value: Field) -> tuple[bool, bool, Any]:
    is_text = isinstance(value, str)
    return value is None, is_text, 0 if value is None else value
