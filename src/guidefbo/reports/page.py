"""A report as one HTML page that needs nothing else and asks the network for nothing.

Every text is escaped. A policy in the page lets only its own script and style run, so
that even a text that slipped through could do nothing.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from itertools import groupby

from guidefbo.reports.table import (
    Block,
    Box,
    Cell,
    Commands,
    Figure,
    Points,
    Prose,
    Section,
    Table,
    spans,
)

SMALL_SVG = 300_000
"""Bytes up to which a picture is put into the page as SVG rather than PNG."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A drawn figure."""

    png: bytes
    svg: bytes

    @property
    def address(self) -> str:
        """The picture itself as an address."""
        is_small = len(self.svg) <= max(SMALL_SVG, len(self.png))
        kind, data = ("svg+xml", self.svg) if is_small else ("png", self.png)
        return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def to_page(
    title: str, sections: Sequence[Section], pictures: Mapping[str, Picture]
) -> str:
    """Return the page; pictures are found by the names of the figures."""
    style, script = _part("page.css"), _part("page.js")
    policy = (
        f"default-src 'none'; img-src data:; style-src {_digest(style)}; "
        f"script-src {_digest(script)}; base-uri 'none'; form-action 'none'"
    )
    tabs = "".join(
        _tab_row(study, list(group))
        for study, group in groupby(sections, key=lambda section: section.study)
    )
    panels = "".join(_panel(section, pictures) for section in sections)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"<header><h1>{escape(title)}</h1></header>\n"
        f'<div role="tablist" aria-label="Sections">{tabs}</div>\n'
        f"<main>{panels}</main>\n<script>{script}</script>\n</body>\n</html>\n"
    )


def _part(name: str) -> str:
    return files("guidefbo.reports").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _tab_row(study: str, sections: Sequence[Section]) -> str:
    name = f'<span class="study" aria-hidden="true">{escape(study)}</span>'
    tabs = "".join(_tab(section) for section in sections)
    return f'<div class="tabs" role="presentation">{name if study else ""}{tabs}</div>'


def _tab(section: Section) -> str:
    address = escape(section.name)
    short = section.name.removeprefix(f"{section.study}-" if section.study else "")
    label = f' aria-label="{escape(section.study)}: {escape(short)}"'
    return (
        f'<button type="button" role="tab" id="tab-{address}" '
        f'aria-controls="{address}" aria-selected="false"'
        f"{label if section.study else ''}>{escape(short.capitalize())}</button>"
    )


def _panel(section: Section, pictures: Mapping[str, Picture]) -> str:
    name = escape(section.name)
    blocks = "\n".join(_block(block, pictures) for block in section.blocks)
    return (
        f'<section role="tabpanel" id="{name}" aria-labelledby="tab-{name}" '
        f'tabindex="0">\n<h2>{escape(section.title)}</h2>\n{blocks}\n</section>\n'
    )


def _block(block: Block, pictures: Mapping[str, Picture]) -> str:
    if isinstance(block, str):
        return f"<p>{escape(block)}</p>"
    if isinstance(block, Prose):
        return f"<p>{_prose(block)}</p>"
    if isinstance(block, Box):
        texts = "".join(f"<p>{escape(text)}</p>" for text in block.texts)
        return f'<aside class="box"><h3>{escape(block.title)}</h3>{texts}</aside>'
    if isinstance(block, Commands):
        return f"<pre><code>{escape(chr(10).join(block.lines))}</code></pre>"
    if isinstance(block, Points):
        points = "".join(f"<li>{escape(item)}</li>" for item in block.items)
        return f"<ul>{points}</ul>"
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in block.notes)
    if isinstance(block, Figure):
        return (
            f"<figure>\n<figcaption>{escape(block.title)}</figcaption>\n"
            f'<img src="{pictures[block.name].address}" alt="{escape(block.title)}">\n'
            f"{notes}</figure>"
        )
    return f"{_table(block)}{notes}"


def _prose(prose: Prose) -> str:
    return "".join(
        f"<code>{escape(text)}</code>" if is_code else escape(text)
        for text, is_code in spans(prose)
    )


def _table(table: Table) -> str:
    kinds = [
        "" if any(row[n].value is not None for row in table.rows) else ' class="words"'
        for n in range(len(table.columns))
    ]
    head = "".join(
        f'<th scope="col"{kind}><button type="button">{escape(name)}</button></th>'
        for kind, name in zip(kinds, table.columns, strict=True)
    )
    body = "\n".join(_row(row, kinds) for row in table.rows)
    footer = "\n".join(_row(row, kinds) for row in table.footer)
    name = escape(table.name)
    return (
        f'<h3 id="{name}-title">{escape(table.title)}</h3>\n'
        f'<div class="scroll" role="region" tabindex="0" '
        f'aria-labelledby="{name}-title">\n'
        f'<table id="table-{name}" aria-labelledby="{name}-title">\n'
        f"<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody>\n"
        f"{f'<tfoot>{footer}</tfoot>' if footer else ''}\n</table>\n</div>\n"
    )


def _row(row: Sequence[Cell], kinds: Sequence[str]) -> str:
    cells = zip(row[1:], kinds[1:], strict=True)
    others = "".join(_cell(cell, f"td{kind}") for cell, kind in cells)
    head = 'th scope="row"'
    return f"<tr>{_cell(row[0], head)}{others}</tr>"


def _cell(cell: Cell, tag: str) -> str:
    text = escape(cell.text)
    if cell.mark == "best":
        text = f"<strong>{text}</strong>"
    elif cell.mark == "second":
        text = f"<u>{text}</u>"
    under = "".join(
        f"<small>{escape(line)}</small>" for line in cell.under.splitlines()
    )
    value = "" if cell.value is None else f' data-value="{cell.value!r}"'
    return f"<{tag}{value}>{text}{under}</{tag.split()[0]}>"
