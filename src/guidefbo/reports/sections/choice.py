"""Sections by name, in the order in which a report gives them."""

from collections.abc import Callable
from types import MappingProxyType

from guidefbo.reports.frame import Frame
from guidefbo.reports.sections.ablation import ablation_section
from guidefbo.reports.sections.communication import communication_section
from guidefbo.reports.sections.curves import curves_section
from guidefbo.reports.sections.head import head_section
from guidefbo.reports.sections.matched import matched_section
from guidefbo.reports.sections.ranks import ranks_section
from guidefbo.reports.sections.regret import regret_section
from guidefbo.reports.sections.runtime import runtime_section
from guidefbo.reports.sections.sensitivity import sensitivity_section
from guidefbo.reports.sections.similarity import similarity_section
from guidefbo.reports.sections.transfer import transfer_section
from guidefbo.reports.table import Section

SECTIONS: MappingProxyType[str, Callable[[Frame], Section | None]] = MappingProxyType(
    {
        "regret": regret_section,
        "ranks": ranks_section,
        "matched": matched_section,
        "transfer": transfer_section,
        "curves": curves_section,
        "ablation": ablation_section,
        "sensitivity": sensitivity_section,
        "communication": communication_section,
        "runtime": runtime_section,
        "similarity": similarity_section,
    }
)
OF_RUNS = ("regret", "ranks", "matched", "transfer", "curves", "communication")
"""Sections that say nothing about a study whose runs measure similarity only."""


def write_sections(frame: Frame) -> list[Section]:
    """Return the head and the sections the study asks for, or those it allows."""
    asked = frame.results.sections
    unknown = [name for name in asked if name not in SECTIONS]
    names = [name for name in SECTIONS if name in asked or not asked]
    if not asked and not any("method" in row.spec for row in frame.results.rows):
        names = [name for name in names if name not in OF_RUNS]
    found: list[Section] = []
    for name in names:
        section = SECTIONS[name](frame)
        if section is None and name in asked:
            told = "The runs that were asked for, or those that are there, do not allow"
            blocks = (f"{told} this section.",)
            section = Section(name=name, title=name.capitalize(), blocks=blocks)
        found += [] if section is None else [section]
    return [head_section(frame, unknown), *found]
