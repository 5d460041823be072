"""Write the tables of settings in the documents, from the records of the methods.

    python scripts/settings_tables.py [--write]   # without --write: say what is old

A page has the marker `<!-- settings: NAME -->` where the table of a strategy goes. The
name `all` stands for what every method has, `rules` for the rules.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from guidefbo.agent.decision.search import SearchSettings
from guidefbo.agent.surrogate.model import ModelSettings
from guidefbo.core.settings import MANY, Setting, settings_of
from guidefbo.methods.registry import RULES, find_rule, find_strategy

DOCS = Path(__file__).resolve().parents[1] / "docs"
MARKER = re.compile(
    r"<!-- settings: (?P<name>[a-z-]+) -->\n(?:.*?<!-- settings end -->\n)?", flags=re.S
)
END = "<!-- settings end -->\n"


def pages() -> Iterator[Path]:
    """Return the pages that have a marker."""
    for path in sorted(DOCS.rglob("*.md")):
        if MARKER.search(path.read_text(encoding="utf-8")):
            yield path


def renew(text: str) -> str:
    """Return a page with its tables as the records have them."""

    def write(marker: re.Match[str]) -> str:
        name = marker["name"]
        return f"<!-- settings: {name} -->\n\n{table_of(name)}\n{END}"

    return MARKER.sub(write, text)


def table_of(name: str) -> str:
    """Return the table for one marker."""
    if name == "all":
        readers = {"model": (ModelSettings,), "search": (SearchSettings,)}
        return _table("read by", _gather(readers))
    if name == "rules":
        return _table(
            "rule",
            _gather({f"`{rule}`": (find_rule(rule).settings,) for rule in RULES}),
        )
    s = find_strategy(name)
    server = () if s.server is None else (s.server,)
    kinds = {"agent": (s.agent,), "server": server, "simulation": s.simulated}
    rows = _gather(kinds)
    if not rows:
        return (
            "It has no settings beside those of [all methods](independent.md#settings) "
            "and of its [rule](index.md#decision-rules).\n"
        )
    return _table("read by", rows)


def _gather(kinds: Mapping[str, tuple[type, ...]]) -> dict[Setting, list[str]]:
    readers: dict[Setting, list[str]] = {}
    for who, types in kinds.items():
        for setting in settings_of(*types).values():
            readers.setdefault(setting, []).append(who)
    return readers


def _table(head: str, rows: Mapping[Setting, list[str]]) -> str:
    lines = [
        f"| setting | default | may be | meaning | {head} |",
        "|---|---|---|---|---|",
    ]
    for setting, who in rows.items():
        lines.append(
            f"| `{setting.name}` | `{setting.default}` | {_values(setting)} | "
            f"{setting.text} | {', '.join(who)} |"
        )
    return "\n".join(lines) + "\n"


def _values(setting: Setting) -> str:
    if setting.names:
        return ", ".join(f"`{name}`" for name in setting.names)
    low, high = (f"{bound:g}" for bound in (setting.low, setting.high))
    if setting.high == MANY:
        high = "10⁶"
    kind = "whole, " if isinstance(setting.default, int) else ""
    return f"{kind}{low} to {high}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the tables")
    given = parser.parse_args()
    old: list[Path] = []
    for path in pages():
        text = path.read_text(encoding="utf-8")
        fresh = renew(text)
        if fresh != text:
            old.append(path)
            if given.write:
                path.write_text(fresh, encoding="utf-8")
    verb = "written" if given.write else "old"
    print(
        "\n".join(f"{verb}: {path.relative_to(DOCS)}" for path in old) or "up to date"
    )
    return 0 if given.write or not old else 1


if __name__ == "__main__":
    sys.exit(main())
