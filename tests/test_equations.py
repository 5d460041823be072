"""The table from the paper to the code is complete and true."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE, TESTS = ROOT / "src" / "guidefbo", ROOT / "tests"
TABLE = ROOT / "docs" / "equations.md"
ROW = re.compile(r"^\|\s*(E\d+)\s*\|")
TAG_AT_LINE_END = re.compile(r"#\s*(E\d\d+(?:\s*,\s*E\d\d+)*)\s*$", re.MULTILINE)


def parse(text):
    """Return {tag: (what, section, module, test)} and the tags in order."""
    rows, order = {}, []
    for line in text.splitlines():
        if ROW.match(line):
            tag, *cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            rows[tag] = cells
            order.append(tag)
    return rows, order


def module_file(module):
    """Return the file of a module of the package, or of a part of the tests."""
    return (ROOT if module.startswith("tests/") else SOURCE) / module


def tags_closing_lines(path):
    found = TAG_AT_LINE_END.findall(path.read_text())
    return {tag.strip() for group in found for tag in group.split(",")}


@pytest.fixture(scope="module")
def table():
    rows, order = parse(TABLE.read_text())
    assert rows, "docs/equations.md has no row that starts with | E01 |"
    assert len(order) == len(set(order)), "a tag stands twice in docs/equations.md"
    return rows


def test_rows_are_whole_and_in_order(table):
    assert list(table) == [f"E{n:02}" for n in range(1, len(table) + 1)]
    for tag, cells in table.items():
        assert len(cells) == 4, f"{tag}: expected what, section, module, test: {cells}"
        assert all(cells), f"{tag} has an empty cell"


def test_named_files_exist(table):
    absent = [
        f"{tag}: {path.relative_to(ROOT)}"
        for tag, (_, _, module, test) in table.items()
        for path in (module_file(module), TESTS / test)
        if not path.is_file()
    ]
    assert not absent, f"docs/equations.md names files that do not exist: {absent}"


def test_every_tag_closes_a_line_of_its_module(table):
    lacking = [
        f"{tag}: {module}"
        for tag, (_, _, module, _) in table.items()
        if not module_file(module).is_file()
        or tag not in tags_closing_lines(module_file(module))
    ]
    assert not lacking, f"tags without code: {lacking}"


def test_every_tag_stands_in_its_test(table):
    lacking = [
        f"{tag}: {test}"
        for tag, (_, _, _, test) in table.items()
        if not (TESTS / test).is_file()
        or not re.search(rf"\b{tag}\b", (TESTS / test).read_text())
    ]
    assert not lacking, f"tags without a test: {lacking}"


def test_code_uses_no_tag_that_the_table_lacks(table):
    used = {
        tag: path.relative_to(SOURCE)
        for path in sorted(SOURCE.rglob("*.py"))
        for tag in tags_closing_lines(path)
    }
    unknown = {tag: str(path) for tag, path in used.items() if tag not in table}
    assert not unknown, f"code has tags that docs/equations.md lacks: {unknown}"


def test_parser_reads_the_documented_format():
    rows, order = parse(
        "| tag | what |\n|---|---|\n| E01 | kernel | 2.2 | agent/a.py | agent/t.py |\n"
    )
    assert rows == {"E01": ["kernel", "2.2", "agent/a.py", "agent/t.py"]}
    assert order == ["E01"]
    assert TAG_AT_LINE_END.findall("x = 1  # E07\ny = 2  # not E08 here\n") == ["E07"]
    assert TAG_AT_LINE_END.findall("x = 1  # E99, E100\n") == ["E99, E100"]
