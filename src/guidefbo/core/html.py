"""Small pieces of HTML for notebooks; every text is escaped here and nowhere else."""

from collections.abc import Iterable, Sequence
from html import escape

MAX_ROWS = 20
"""Most rows of a table in a notebook; the middle of a longer one is left out."""


def lines_html(text: str) -> str:
    """Return lines of text as they stand.

    >>> lines_html("a < b")
    '<pre>a &lt; b</pre>'
    """
    return f"<pre>{escape(text)}</pre>"


def table_html(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of texts; of a long one its beginning and its end.

    Args:
        header: Names of the columns.
        rows: As many cells each.
    """
    lines = list(rows)
    first, last = lines, list[Sequence[str]]()
    if len(lines) > MAX_ROWS:
        half = MAX_ROWS // 2
        first, last = lines[:half], lines[-half:]
    gap = f"{len(lines) - len(first) - len(last)} more"
    middle = f'<tr><td colspan="{len(header)}">{gap}</td></tr>' if last else ""
    head = _row("th", header)
    body = "".join(_row("td", row) for row in first) + middle
    body += "".join(_row("td", row) for row in last)
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"


def _row(tag: str, cells: Sequence[str]) -> str:
    inner = "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells)
    return f"<tr>{inner}</tr>"
