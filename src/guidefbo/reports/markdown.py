"""A report as Markdown."""

from collections.abc import Sequence
from html import escape as escape_html

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

SPECIAL = "\\`*[]|"
"""Characters that Markdown would take for more than themselves."""


def to_markdown(title: str, sections: Sequence[Section]) -> str:
    """Return the document; figures are linked."""
    lines = [f"# {escape(title)}", ""]
    study = ""
    for section in sections:
        if section.study != study:
            study = section.study
            lines += [f"# Study {escape(study)}", ""]
        lines += [f"## {escape(section.title)}", ""]
        for block in section.blocks:
            lines += [*_block(block), ""]
    return "\n".join(lines).rstrip() + "\n"


def escape(text: str) -> str:
    r"""Return a text that Markdown shows as it is, on one line.

    >>> print(escape("a|b <script>"))
    a\|b &lt;script&gt;
    """
    return _escape_line(" ".join(text.split()))


def table_to_markdown(table: Table) -> list[str]:
    """Return the lines of a table, second lines after a line break."""
    sides = (
        "---:" if any(row[place].value is not None for row in table.rows) else "---"
        for place in range(len(table.columns))
    )
    lines = [
        "| " + " | ".join(map(escape, table.columns)) + " |",
        "|" + "|".join(sides) + "|",
    ]
    for row in (*table.rows, *table.footer):
        lines.append("| " + " | ".join(map(_cell, row)) + " |")
    return lines


def _escape_line(line: str) -> str:
    shown = escape_html(line, quote=False)
    return "".join(f"\\{c}" if c in SPECIAL else c for c in shown)


def _prose(prose: Prose) -> str:
    # Markdown takes nothing in a stretch of code for more than itself.
    return "".join(
        f"`{text}`" if is_code else _escape_line(text) for text, is_code in spans(prose)
    )


def _cell(cell: Cell) -> str:
    text = escape(cell.text)
    if cell.mark == "best":
        text = f"**{text}**"
    elif cell.mark == "second":
        text = f"<u>{text}</u>"
    return "<br>".join([text, *map(escape, cell.under.splitlines())])


def _block(block: Block) -> list[str]:
    if isinstance(block, str):
        return [escape(block)]
    if isinstance(block, Prose):
        return [_prose(block)]
    if isinstance(block, Box):
        texts = [line for text in block.texts for line in (">", f"> {escape(text)}")]
        return [f"> **{escape(block.title)}**", *texts]
    if isinstance(block, Commands):
        # A line cannot end the block: commands hold no line breaks.
        return ["```sh", *(" ".join(line.split()) for line in block.lines), "```"]
    if isinstance(block, Points):
        return [f"- {escape(item)}" for item in block.items]
    notes = [line for note in block.notes for line in ("", escape(note))]
    head = [f"### {escape(block.title)}", ""]
    if isinstance(block, Figure):
        link = f"![{escape(block.title)}](figures/{block.name}.png)"
        return [*head, link, *notes]
    return [*head, *table_to_markdown(block), *notes]
