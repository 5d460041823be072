"""Tables as LaTeX, in the manner of booktabs."""

from guidefbo.reports.table import Cell, Table

SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "÷": r"$\div$",
    "→": r"$\rightarrow$",
    "←": r"$\leftarrow$",
}
WIDE = 6
"""Columns from which a table is scaled to the width of the line."""


def escape(text: str) -> str:
    r"""Return a text that LaTeX sets as it is, on one line.

    >>> print(escape("50% of a_b ± 1"))
    50\% of a\_b $\pm$ 1
    """
    line = " ".join(text.split())
    return "".join(SPECIAL.get(c, c) for c in line)


def to_latex(table: Table) -> str:
    """Return a table environment; needs booktabs, and graphicx where it is wide."""
    is_wide = len(table.columns) > WIDE
    needs = "booktabs and graphicx" if is_wide else "booktabs"
    head = " & ".join(_head(column) for column in table.columns)
    body = [_row(row) for row in table.rows]
    if table.footer:
        body += [r"\midrule", *(_row(row) for row in table.footer)]
    notes = " ".join(escape(note) for note in table.notes)
    lines = [
        f"% needs {needs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape(table.title)}. {notes}}}".replace("..", "."),
        rf"\label{{tab:{escape(table.name)}}}".replace(r"\_", "-"),
        r"\resizebox{\linewidth}{!}{%" if is_wide else "",
        rf"\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}",
        r"\toprule",
        rf"{head} \\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}" + ("}" if is_wide else ""),
        r"\end{table}",
    ]
    return "\n".join(line for line in lines if line) + "\n"


def _head(column: str) -> str:
    return rf"\textbf{{{escape(column)}}}"


def _row(row: tuple[Cell, ...]) -> str:
    return " & ".join(map(_cell, row)) + r" \\"


def _cell(cell: Cell) -> str:
    text = escape(cell.text)
    if cell.mark == "best":
        text = rf"\textbf{{{text}}}"
    elif cell.mark == "second":
        text = rf"\underline{{{text}}}"
    if not cell.under:
        return text
    lines = [rf"{{\scriptsize {escape(line)}}}" for line in cell.under.splitlines()]
    stacked = r"\\".join([text, *lines])
    return rf"\shortstack[r]{{{stacked}}}"
