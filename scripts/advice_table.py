"""Write the table of docs/guide/which-method.md, and hold its figures to the results.

    python scripts/advice_table.py [--write]   # without --write: say what is old

The figures are in src/guidefbo/methods/advice.py. Where a table of docs/results was
made anew and says something else, this names the figure and what the table says now.
"""

import argparse
import csv
import re
import sys
from pathlib import Path

from guidefbo.methods.advice import CASES, Figure, Measure

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "guide" / "which-method.md"
MARKER = re.compile(r"<!-- advice -->\n(?:.*?<!-- advice end -->\n)?", flags=re.S)
END = "<!-- advice end -->\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the page")
    arguments = parser.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    fresh, old = renew(text), disagreements()
    for line in old:
        print(line)
    if fresh != text:
        print(f"{PAGE.name} is {'written' if arguments.write else 'old'}")
        if arguments.write:
            PAGE.write_text(fresh, encoding="utf-8")
    if old or (fresh != text and not arguments.write):
        sys.exit(1)


def renew(text: str) -> str:
    """Return the page with the table as the module has it."""
    return MARKER.sub(lambda _: f"<!-- advice -->\n\n{table()}\n{END}", text)


def table() -> str:
    """Return all situations as a table."""
    lines = [
        "| space | sites | noise | optima | use | what says so |",
        "|---|---|---|---|---|---|",
    ]
    for case in CASES:
        said = [f"[{f}](../results/{f.page})" for f in case.figures]
        evidence = "<br>".join(said) or "nothing"
        cells = (case.space, case.sites, case.noise, case.optima, case.advice, evidence)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def disagreements() -> list[str]:
    """Return a line for every figure that is not what its table says."""
    found: list[str] = []
    for case in CASES:
        for figure in case.figures:
            value, error = (round(x, figure.digits) for x in published(figure))
            if (value, error) != (figure.value, figure.error):
                found.append(
                    f"{case.situation}: {figure}; the table in docs/results/"
                    f"{figure.study} says {value} ± {error}"
                )
    return found


def published(figure: Figure) -> tuple[float, float]:
    """Return a figure and its standard error as docs/results has them."""
    folder = DOCS / "results" / figure.study / "tables"
    if figure.measure == Measure.RATIO:
        key = {
            "conditions": figure.row,
            "method / plain rule": f"{figure.method} / {figure.beside}",
        }
        row = row_of(folder / "matched.csv", key)
        return float(row["mean ratio ratio"]), float(row["mean ratio log error"])
    file = folder / f"realworld-{figure.row}.csv"
    row = row_of(file, {"method": figure.method})
    if figure.measure == Measure.GAIN:
        name = "gain over its lone rule"
        return float(row[f"{name} gain"]), float(row[f"{name} error"])
    # The columns are named after what the task measures, and are the first.
    value, error = list(row.values())[1:3]
    return float(value), float(error)


def row_of(file: Path, key: dict[str, str]) -> dict[str, str]:
    """Return the one row of a table that has these entries."""
    with file.open(encoding="utf-8", newline="") as lines:
        rows = [r for r in csv.DictReader(lines) if key.items() <= r.items()]
    if len(rows) != 1:
        raise LookupError(f"Expected one row {key} in {file}, got {len(rows)}.")
    return rows[0]


if __name__ == "__main__":
    main()
