"""Writes a report of one or several studies."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from guidefbo.canvas import require_matplotlib
from guidefbo.canvas.file import picture_bytes
from guidefbo.core.errors import DataError
from guidefbo.experiments.results import StudyResults, read_study
from guidefbo.reports.conditions import slug
from guidefbo.reports.folder import write_files
from guidefbo.reports.formats import join
from guidefbo.reports.frame import lay_out
from guidefbo.reports.latex import to_latex
from guidefbo.reports.markdown import to_markdown
from guidefbo.reports.page import Picture, to_page
from guidefbo.reports.sections.choice import write_sections
from guidefbo.reports.spreadsheet import to_csv
from guidefbo.reports.table import Block, Figure, Section, Table, figures_of, tables_of


def write_report(paths: Sequence[Path], out: Path) -> list[Path]:
    """Write the report of the studies into a folder and return the files written.

    Args:
        paths: Folders or packs of studies.
        out: Folder of the report, created where it does not exist. It gets report.md,
            report.html, tables/NAME.csv and .tex, figures/NAME.png and .svg. Tables and
            figures of an earlier report that this one lacks are removed.
    """
    if not paths:
        raise DataError("A report needs at least one study. Name a folder or a pack.")
    require_matplotlib()
    studies = [read_study(path) for path in paths]
    sections = compose(studies)
    title = studies[0].title or studies[0].name
    if len(studies) > 1:
        title = f"Studies {join([study.name for study in studies])}"
    pictures = {
        figure.name: _draw(figure)
        for section in sections
        for figure in figures_of(section)
    }
    files: dict[str, str | bytes] = {}
    for section in sections:
        for table in tables_of(section):
            files[f"tables/{table.name}.csv"] = to_csv(table)
            files[f"tables/{table.name}.tex"] = to_latex(table)
    for name, picture in pictures.items():
        files[f"figures/{name}.png"] = picture.png
        files[f"figures/{name}.svg"] = picture.svg
    files["report.md"] = to_markdown(title, sections)
    files["report.html"] = to_page(title, sections, pictures)
    return write_files(files, out)


def compose(studies: Sequence[StudyResults]) -> list[Section]:
    """Return the sections of all studies; no two sections or blocks share a name."""
    has_several = len(studies) > 1
    taken: set[str] = set()
    sections: list[Section] = []
    frames = [lay_out(study) for study in studies]
    for study, frame in zip(studies, frames, strict=True):
        prefix = _unused(slug(study.name), taken) if has_several else ""
        for place, section in enumerate(write_sections(frame, frames)):
            blocks = tuple(_named(block, prefix, taken) for block in section.blocks)
            section = replace(section, blocks=blocks, study=prefix)
            if has_several:
                title = (study.title or study.name) if place == 0 else section.title
                name = f"{prefix}-{section.name}"
                section = replace(section, name=name, title=title)
            sections.append(section)
    return sections


def _named(block: Block, prefix: str, taken: set[str]) -> Block:
    """Return a block under a name that is safe for a file and not taken."""
    if isinstance(block, Table | Figure):
        kind = "table" if isinstance(block, Table) else "figure"
        name = slug(f"{prefix}-{block.name}")
        return replace(block, name=_unused(name, taken, kind))
    return block


def _unused(name: str, taken: set[str], kind: str = "study") -> str:
    found, number = name, 2
    while f"{kind} {found}" in taken:
        found, number = f"{name}-{number}", number + 1
    taken.add(f"{kind} {found}")
    return found


def _draw(figure: Figure) -> Picture:
    drawn = figure.draw()
    png = picture_bytes(drawn, "png")
    # Everything has its place by now; finding it again would double the time.
    drawn.set_layout_engine("none")
    return Picture(png=png, svg=picture_bytes(drawn, "svg"))
