"""Sections by name, and the order in which a report gives them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MappingProxyType

from guidefbo.reports.frame import Frame, lay_out
from guidefbo.reports.sections.ablation import ablation_section
from guidefbo.reports.sections.bookkeeping import bookkeeping_section, missing_sentence
from guidefbo.reports.sections.caution import caution
from guidefbo.reports.sections.communication import communication_section
from guidefbo.reports.sections.curves import curves_section
from guidefbo.reports.sections.matched import matched_section
from guidefbo.reports.sections.ranks import ranks_section
from guidefbo.reports.sections.realworld import realworld_section
from guidefbo.reports.sections.regret import regret_section
from guidefbo.reports.sections.results import NAME as RESULTS
from guidefbo.reports.sections.results import results_section
from guidefbo.reports.sections.runtime import runtime_section
from guidefbo.reports.sections.sensitivity import sensitivity_section
from guidefbo.reports.sections.similarity import similarity_section
from guidefbo.reports.sections.transfer import transfer_section
from guidefbo.reports.table import Block, Prose, Section

SECTIONS: MappingProxyType[str, Callable[[Frame], Section | None]] = MappingProxyType(
    {
        "realworld": realworld_section,
        "transfer": transfer_section,
        RESULTS: results_section,
        "regret": regret_section,
        "ranks": ranks_section,
        "matched": matched_section,
        "curves": curves_section,
        "ablation": ablation_section,
        "sensitivity": sensitivity_section,
        "communication": communication_section,
        "runtime": runtime_section,
        "similarity": similarity_section,
    }
)
"""In the order for a study that does not ask for any."""
COMPARISONS = ("regret", "ranks", "matched", "curves")
"""Where one of these would come first, the results do, or the tasks."""
OF_FUNCTIONS = ("transfer", RESULTS, "regret", "ranks", "matched")
"""Sections that leave tasks to the one on tasks."""
OF_GAINS = (*OF_FUNCTIONS, "ablation", "curves")
"""Sections that show how much better one method is than another."""
OF_RUNS = (*OF_FUNCTIONS, "realworld", "curves", "communication")
"""Sections that say nothing about a study whose runs measure similarity only."""


def write_sections(frame: Frame, beside: Sequence[Frame] = ()) -> list[Section]:
    """Return the sections the study asks for, in its order, or those it allows.

    The first one opens with what the study is for, the last one is the bookkeeping.

    Args:
        frame: The study's runs.
        beside: The frames of the other studies in the report.
    """
    asked = list(dict.fromkeys(frame.results.sections))
    names = [name for name in asked if name in SECTIONS]
    if not asked:
        has_runs = any("method" in row.spec for row in frame.results.rows)
        names = [name for name in SECTIONS if has_runs or name not in OF_RUNS]
    functions = frame
    if "realworld" in names:
        rows = [row for row in frame.results.rows if row.spec.get("level") is not None]
        functions = lay_out(frame.results, rows)
    found, empty = _written(frame, functions, names)
    if found and found[0].name in COMPARISONS:
        openings, _ = _written(frame, functions, [RESULTS, "realworld"])
        found = [*openings[:1], *found]
    # What cannot be written is said where it was asked for, and after all that can.
    found += [_not_allowed(name) for name in empty if name in asked]
    unknown = [name for name in asked if name not in SECTIONS]
    found.append(bookkeeping_section(frame, unknown))
    blocks = (*_opening(frame, beside, names), *found[0].blocks)
    return [replace(found[0], blocks=blocks), *found[1:]]


def _written(
    frame: Frame, functions: Frame, names: Sequence[str]
) -> tuple[list[Section], list[str]]:
    """Return the sections that the runs allow, and the names of the others."""
    found: list[Section] = []
    empty: list[str] = []
    for name in names:
        section = SECTIONS[name](functions if name in OF_FUNCTIONS else frame)
        if section is None:
            empty.append(name)
        else:
            found.append(section)
    return found, empty


def _not_allowed(name: str) -> Section:
    told = "The runs that were asked for, or those that are there, do not allow"
    blocks = (f"{told} this section.",)
    return Section(name=name, title=name.capitalize(), blocks=blocks)


def _opening(
    frame: Frame, beside: Sequence[Frame], names: Sequence[str]
) -> list[Block]:
    """Return what stands above the results."""
    results = frame.results
    blocks: list[Block] = [Prose(text=results.text)] if results.text else []
    missing = missing_sentence(results)
    blocks += [] if missing is None else [missing]
    tells_gains = any(name in OF_GAINS for name in names)
    box = caution(frame, [frame, *beside]) if tells_gains else None
    return blocks if box is None else [*blocks, box]
