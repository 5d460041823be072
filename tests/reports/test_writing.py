import csv
import hashlib
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reports.studies import Folder, finals_of, run, spec

from guidefbo.core.errors import DataError
from guidefbo.core.files import OutputError
from guidefbo.experiments.results import pack_study, read_study
from guidefbo.reports.formats import number, p_text, with_error
from guidefbo.reports.latex import escape as escape_latex
from guidefbo.reports.latex import to_latex
from guidefbo.reports.markdown import escape as escape_markdown
from guidefbo.reports.markdown import table_to_markdown, to_markdown
from guidefbo.reports.page import to_page
from guidefbo.reports.report import write_report
from guidefbo.reports.spreadsheet import to_csv
from guidefbo.reports.statistics import Summary
from guidefbo.reports.table import Cell, Prose, Section, Table, words

TABLE = Table(
    name="t",
    title="50% of a_b",
    columns=("function", "a|b & c", "=SUM(A1)"),
    rows=(
        (
            words('x, "y"\nz'),
            Cell(
                text="1.00 ± 0.10", under="paper 1", mark="best", data=(("mean", 1.0),)
            ),
            Cell(text="2", mark="second", data=(("", 2.0),)),
        ),
        (
            words("@b"),
            Cell(text="- (0 of 3 seeds)", data=(("mean", None),)),
            words("-"),
        ),
    ),
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (19.4789, "19.48"),
        (685.3075, "685.3"),
        (99.999, "100.0"),
        (0.06487, "0.06487"),
        (-1.5, "-1.500"),
        (1e-7, "1.000e-07"),
    ],
)
def test_four_digits(value, text):
    assert number(value) == text


def test_the_error_ends_where_the_mean_ends():
    assert with_error(Summary(mean=685.3, error=22.16, count=3)) == "685.3 ± 22.2"
    assert with_error(Summary(mean=99.999, error=0.06, count=3)) == "100.0 ± 0.1"
    assert with_error(Summary(mean=50.0, error=1e-5, count=3)) == "50.00 ± 1e-05"
    assert with_error(Summary(mean=50.0, error=0.0, count=3)) == "50.00 ± 0.00"
    assert with_error(Summary(mean=50.0, error=None, count=1)) == "50.00"


def test_p_values_tell_what_few_pairs_cannot():
    assert p_text(0.25, [1.0] * 3) == "p 0.25 (3 pairs); cannot be below 0.25"
    assert p_text(0.012, [1.0] * 36) == "p 0.012 (36 pairs)"
    assert p_text(None, [0.0] * 2) == "no difference (2 pairs)"
    assert p_text(None, []) == "-"
    counted = "p 0.25 (20 pairs, 3 of them unequal); cannot be below 0.25"
    assert p_text(0.25, [0.0] * 17 + [1.0] * 3) == counted


def test_csv_has_every_number_in_a_column_of_its_own():
    head, first, second = list(csv.reader(io.StringIO(to_csv(TABLE))))
    assert head == ["function", "a|b & c mean", "'=SUM(A1)"]
    assert first == ['x, "y" z', "1.0", "2.0"]
    # Missing is empty; what a spreadsheet would compute is text.
    assert second == ["'@b", "", ""]


@given(st.text())
def test_csv_of_any_text_comes_back(text):
    table = Table(
        name="t", title="", columns=("a", "b"), rows=((words("r"), words(text)),)
    )
    _, row = list(csv.reader(io.StringIO(to_csv(table), newline="")))
    expected = "" if text == "-" else " ".join(text.split())
    assert row[1] in (expected, f"'{expected}")


def test_latex_marks_and_escapes():
    text = to_latex(TABLE)
    assert r"\textbf{1.00 $\pm$ 0.10}" in text
    assert r"\underline{2}" in text
    assert r"50\% of a\_b" in text
    assert r"a\textbar{}b \& c" in text
    assert text.count(r"\begin") == text.count(r"\end")
    assert r"\toprule" in text


@given(st.text(alphabet=st.characters(codec="ascii")))
def test_latex_leaves_nothing_special(text):
    escaped = escape_latex(text)
    bare = re.sub(r"\\(text\w+\{\}|char34\{\}|[{}$&#%_])", "", escaped)
    assert not set(bare) & set("\\{}$&#%_^~")


def test_markdown_marks_and_escapes():
    lines = table_to_markdown(TABLE)
    assert lines[0] == r"| function | a\|b & c | =SUM(A1) |".replace("&", "&amp;")
    assert lines[2].startswith('| x, "y" z | **1.00 ± 0.10**<br>paper 1 | <u>2</u> |')


@given(st.text())
def test_markdown_is_one_line_without_tags(text):
    escaped = escape_markdown(text)
    assert len(escaped.splitlines()) <= 1
    assert "<" not in escaped
    assert not re.search(r"(?<!\\)\|", escaped.replace(r"\\", ""))


def written_of(tmp_path, text):
    """Return a study's own text as it stands in the Markdown and in the page."""
    folder = Folder(tmp_path / "s", text=text).add(spec())
    write_report([folder.save()], tmp_path / "out")
    markdown = (tmp_path / "out" / "report.md").read_text().splitlines()[4]
    page = (tmp_path / "out" / "report.html").read_text()
    return markdown, re.search(r"</h2>\n<p>(.*)</p>", page)[1]


def test_code_in_the_text_of_a_study_is_code(tmp_path):
    markdown, page = written_of(tmp_path, "Runs `a_b <i> | *x*`\nwith *care*, a|b.")
    assert markdown == r"Runs `a_b <i> | *x*` with \*care\*, a\|b."
    assert page == "Runs <code>a_b &lt;i&gt; | *x*</code> with *care*, a|b."


def test_a_text_of_a_study_can_do_nothing(tmp_path):
    hostile = "`<script>`</code><script>` ``<b>`` \\` <i>`` [a](b) `"
    markdown, page = written_of(tmp_path, hostile)
    assert page.count("<") == page.count("<code>") + page.count("</code>") == 2
    # Outside of the one stretch of code no tag, no link and no other code begins.
    rest = markdown.replace("`<script>`", "", 1)
    assert "<" not in rest
    assert not re.search(r"(?<!\\)[`\[]", rest.replace(r"\\", ""))


@given(st.text(alphabet=r"`a <&\\"))
def test_no_text_of_a_study_opens_a_tag(text):
    section = Section(name="s", title="t", blocks=(Prose(text=text),))
    line = "".join(to_markdown("t", [section]).splitlines()[4:])
    page = to_page("t", [section], {}).partition("</h2>")[2].partition("</section>")[0]
    assert not set(re.findall("<[^>]*>?", page)) - {"<p>", "</p>", "<code>", "</code>"}
    assert "<" not in re.sub(r"(?<![`\\])`[^`]+`(?!`)", "", line.replace(r"\\", ""))


@pytest.fixture
def small(tmp_path):
    folder = Folder(tmp_path / "small", name="small")
    return folder.add_finals(finals_of(["ucb", "guide-ucb", "placebo-ucb"])).save()


def test_a_report_is_written_whole(small, tmp_path):
    out = tmp_path / "deep" / "out"
    files = write_report([small], out)
    names = {str(path.relative_to(out)) for path in files}
    assert {"report.md", "report.html", "tables/regret-level-2.csv"} <= names
    assert {"figures/transfer.png", "figures/curves-level-2.svg"} <= names
    assert names == {str(p.relative_to(out)) for p in out.rglob("*") if p.is_file()}
    text = (out / "report.md").read_text()
    linked = re.findall(r"!\[.*\]\((.*)\)", text)
    assert linked
    assert all((out / name).is_file() for name in linked)
    assert (out / "figures/transfer.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (out / "figures/transfer.svg").read_text()


def test_what_an_earlier_report_left_is_removed_and_nothing_else(tmp_path):
    folder = Folder(tmp_path / "s", sections=["regret", "transfer"])
    folder.add_finals(finals_of(["ucb", "guide-ucb", "placebo-ucb"]))
    study = folder.save()
    write_report([study], study)
    for name in ("figures/transfer.svg", "tables/transfer.csv", "tables/transfer.tex"):
        assert (study / name).is_file()
    own = ["tables/notes.csv", "figures/mine.png", "runs.json.gz"]
    for name in own:
        (study / name).write_text("mine")
    (study / "tables/transfer.tex").write_text("edited by hand")
    runs = {path.name for path in (study / "runs").iterdir()}
    folder.form["sections"] = ["regret"]
    written = {str(p.relative_to(study)) for p in write_report([folder.save()], study)}
    kept = {str(p.relative_to(study)) for p in study.rglob("*") if p.is_file()}
    extra = {"study.json", "tables/transfer.tex", *own, *(f"runs/{n}" for n in runs)}
    assert kept == written | extra
    assert {path.name for path in (study / "runs").iterdir()} == runs


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"format": "guidefbo-report", "version": 1, "files": ["tables/a.csv"]}',
        '{"format": "other", "version": 1, "files": {"tables/a.csv": "DIGEST"}}',
        '{"format": "guidefbo-report", "version": 1, "files": {"../a.csv": "DIGEST", '
        '"tables/../../a.csv": "DIGEST", "tables/../a.csv": "DIGEST", '
        '"runs/a.json": "DIGEST", "runs.json.gz": "DIGEST", "tables/a.csv": "0"}}',
    ],
)
def test_a_doubtful_list_removes_nothing(tmp_path, content):
    out = tmp_path / "out"
    names = ["../a.csv", "a.csv", "tables/a.csv", "runs/a.json", "runs.json.gz"]
    for name in names:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text("mine")
    digest = hashlib.sha256(b"mine").hexdigest()
    (out / "report-files.json").write_text(content.replace("DIGEST", digest))
    write_report([Folder(tmp_path / "s").add(spec()).save()], out)
    assert all((out / name).read_text() == "mine" for name in names)


def test_a_pack_gives_the_same_report_twice(small, tmp_path):
    pack = tmp_path / "small.json.gz"
    pack.write_bytes(pack_study(read_study(small)))
    for path, name in ((small, "a"), (pack, "b"), (pack, "c")):
        write_report([path], tmp_path / name)
    for name in ("report.md", "report.html", "figures/transfer.svg"):
        one, other, again = (tmp_path / place / name for place in "abc")
        assert other.read_bytes() == again.read_bytes()
        # But for the commands at the end, which name the folder or one for the pack.
        told = [path.read_text().split("report again")[0] for path in (one, other)]
        assert told[0] == told[1]


def test_several_studies_share_a_report(small, tmp_path):
    odd = Folder(
        tmp_path / "odd", name="../small", title="Odd <i>", sections=["regret"]
    )
    odd.add(spec(), run(1.0))
    files = write_report([small, odd.save(), small], tmp_path / "out")
    assert all(path.is_relative_to(tmp_path / "out") for path in files)
    names = {path.name for path in files}
    assert {"small-regret-level-2.csv", "small-2-regret-level-2.csv"} <= names
    page = (tmp_path / "out" / "report.html").read_text()
    identities = re.findall(r' id="([^"]*)"', page)
    assert len(identities) == len(set(identities))
    assert "Odd &lt;i&gt;" in page


def test_hostile_names_stay_in_the_folder(tmp_path):
    folder = Folder(tmp_path / "s", name="../../x", sections=["sensitivity", "regret"])
    for value in (1, 2, 3):
        settings = {"../../../up": value}
        row = spec("../p", "../m", 0, level="../../l", settings=settings)
        folder.add(row, run(1.0), group="g")
    before = set(tmp_path.rglob("*"))
    out = tmp_path / "out"
    write_report([folder.save()], out)
    new = set(tmp_path.rglob("*")) - before - {tmp_path / "s" / "study.json"}
    assert all(path == out or path.is_relative_to(out) for path in new)


def test_every_kind_of_figure_is_drawn(tmp_path):
    asked = ["transfer", "ablation", "sensitivity"]
    folder = Folder(tmp_path / "s", sections=asked)
    finals = finals_of(["ucb", "placebo-ucb", "guide-ucb", "cgp-ucb"], seeds=1)
    folder.add_finals(finals, common_shift=0.3)
    folder.add_finals(finals, common_shift=0.3, level=3)
    folder.add_finals(finals, noise=0.01)
    folder.add_finals(finals, noise=0.01, level=3)
    for value in (1, 3, 5):
        row = spec("rastrigin", "guide-ucb", level=3, settings={"packet_size": value})
        folder.add(row, run(90.0), group="packet_size")
    for variant, final in (("full", 2.0), ("no-merging", 1.0), ("uniform", 4.0)):
        folder.add(spec("powell", "guide-ucb"), run(final), variant=variant)
    files = write_report([folder.save()], tmp_path / "out")
    drawn = {path.stem for path in files if path.suffix == ".svg"}
    assert drawn == set(asked)


def test_regrets_of_zero_are_drawn_and_compared(tmp_path):
    folder = Folder(tmp_path / "s", sections=["curves", "matched"])
    zeros = {(m, "sphere"): [0.0, 0.0] for m in ("ucb", "guide-ucb")}
    folder.add_finals(zeros)
    write_report([folder.save()], tmp_path / "out")
    assert "no difference (2 pairs)" in (tmp_path / "out" / "report.md").read_text()


def test_an_empty_study_is_reported(tmp_path):
    out = tmp_path / "out"
    write_report([Folder(tmp_path / "s").save()], out)
    assert "0 runs asked for" in (out / "report.md").read_text()


def test_refusals(tmp_path):
    with pytest.raises(DataError, match="at least one study"):
        write_report([], tmp_path / "out")
    with pytest.raises(DataError, match="no "):
        write_report([tmp_path / "nothing"], tmp_path / "out")
    study = Folder(tmp_path / "s").add(spec()).save()
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="file"):
        write_report([study], tmp_path / "file" / "out")
