"""Files that are no files, or too much of one: refused at once, in one sentence."""

import gzip
import json
import os
import re
import resource
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from guidefbo import Agent, Choice, Float, Space
from guidefbo.cli.app import app

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes and devices of posix")
SPACE = '[parameters.x]\ntype = "float"\nlow = 0\nhigh = 1\n'
STUDY = '[common]\nproblem = "levy"\ndim = 2\n[[grid]]\nmethod = ["ucb"]\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An agent, a space, a study and things that are no ordinary files."""
    monkeypatch.chdir(tmp_path)
    Agent(Space(x=Float(0, 1), drug=Choice("a", "b")), goal="max").save("site.json")
    (tmp_path / "space.toml").write_text(SPACE)
    (tmp_path / "up.json").write_text("{}")
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "zero.toml").symlink_to("/dev/zero")
    with open(tmp_path / "huge.toml", "wb") as file:
        file.truncate(1 << 40)
    return tmp_path


def refused(*words):
    """Call a command that must refuse in a sentence; return it."""
    # Of the processor, so that a busy machine fails no test; twice, since the first
    # call may have to load the libraries.
    result, seconds = None, []
    for _ in range(2):
        began = time.process_time()
        result = CliRunner().invoke(app, [str(word) for word in words])
        seconds.append(time.process_time() - began)
    assert min(seconds) < 1.0
    assert result.exit_code == 2, (result.output, result.exception)
    said = " ".join(result.stderr.split())
    assert said.startswith("guidefbo: ")
    assert len(said) < 1500
    return said


COMMANDS = [
    "ask {}",
    "tell {} 1 0.5",
    "abandon {} 1",
    "show {}",
    "plot {} -o a.png",
    "upload {} -o message.json",
    "receive {} up.json",
    "init new.json {} --goal max",
    "init new.json space.toml --goal max --results {}",
    "tell site.json --csv {}",
    "study plan {}",
    "study run {}",
    "study report {} --out out",
    "study pack {} out.json.gz",
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "name", ["pipe.toml", "folder.toml", "zero.toml", "huge.toml", "absent.toml"]
)
def test_what_is_no_ordinary_file_is_refused_at_once(command, name, folder):
    said = refused(*command.format(name).split())
    assert name in said
    names = {p.name for p in folder.iterdir()}
    assert not names & {"new.json", "out", "a.png", "out.json.gz"}
    assert not {n for n in names if n.endswith(".lock")} - {
        "site.json.lock",
        "huge.toml.lock",
    }


@pytest.mark.parametrize("name", ["pipe", "folder.toml", "zero.toml", "absent"])
def test_messages_are_read_from_ordinary_files(name, folder):
    assert "Cannot read" in refused("receive", "site.json", name)
    assert "Cannot read" in refused("merge", name, "--out-dir", "packets")
    assert not (folder / "packets").exists()


def limited(words, folder):
    """Call a command that may map 1 GiB; return its exit code and last word."""
    limit = 1 << 30
    done = subprocess.run(
        [sys.executable, "-m", "guidefbo", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    return done.returncode, done.stderr


def test_bounded_memory(folder):
    """A tebibyte of holes, and a device that never ends."""
    for name in ("huge.toml", "zero.toml"):
        code, said = limited(["show", name], folder)
        assert (code, "Cannot read" in said) == (2, True), said


# Packs


def bomb(size):
    """Return a small gzip file that unfolds to spaces."""
    block = gzip.compress(b" " * (1 << 20), mtime=0)
    return block * (size >> 20)


def test_gzip_bomb_is_refused_half_way(folder):
    (folder / "bomb.json.gz").write_bytes(bomb(4 << 30))
    assert (folder / "bomb.json.gz").stat().st_size < 8 << 20
    said = refused("study", "report", "bomb.json.gz", "--out", "out")
    assert "unfolds to more than 33554432 bytes" in said
    code, said = limited(["study", "report", "bomb.json.gz", "--out", "o"], folder)
    assert (code, "unfolds to more" in said) == (2, True), said


def test_pack_that_is_too_long_itself_is_refused(folder):
    with open(folder / "long.json.gz", "wb") as file:
        file.truncate(1 << 40)
    said = refused("study", "report", "long.json.gz", "--out", "out")
    assert "more than 16777216 bytes" in said


@pytest.fixture
def pack(folder):
    """A small pack as data, and a way to write it."""
    (folder / "small.toml").write_text(
        STUDY + "num_agents = 2\nnum_initial = 3\nnum_rounds = 1\n"
    )
    words = ["study", "run", "small.toml", "--repetitions", "1", "--jobs", "1"]
    assert CliRunner().invoke(app, words).exit_code == 0
    words = ["study", "pack", "results/small", "small.json.gz"]
    assert CliRunner().invoke(app, words).exit_code == 0
    form = json.loads(gzip.decompress((folder / "small.json.gz").read_bytes()))

    def write(name):
        (folder / name).write_bytes(gzip.compress(json.dumps(form).encode()))

    return form, write


@pytest.mark.parametrize("number", [1e308, -1e308, 1e101, True, None, "1"])
def test_pack_with_an_absurd_curve_is_refused(number, pack, folder):
    form, write = pack
    (key,) = form["runs"]
    form["runs"][key]["mean_simple_regret"][-1] = number
    write("odd.json.gz")
    said = refused("study", "report", "odd.json.gz", "--out", "out")
    assert "holds no result of the run" in said
    assert "at most 1e+100" in said


def test_pack_of_version_true_is_refused(pack):
    form, write = pack
    form["study"]["version"] = True
    write("odd.json.gz")
    said = refused("study", "report", "odd.json.gz", "--out", "out")
    assert "has version True" in said


# Texts


@pytest.mark.parametrize(
    "text", ["x=0.5\n,drug=a", "x=0.5,drug=a\r\n", '"x=0.5\n",drug=a', "x=0\0.5,drug=a"]
)
def test_values_of_more_than_one_line_are_refused(text, folder):
    before = (folder / "site.json").read_bytes()
    assert "in one line" in refused("tell", "site.json", text, "1.0")
    assert (folder / "site.json").read_bytes() == before


def test_values_longer_than_a_table_reads_are_refused(folder):
    refused("tell", "site.json", f"x={'1' * 200_000},drug=a", "1.0")


def test_reason_that_cannot_be_printed_is_refused(folder):
    CliRunner().invoke(app, ["ask", "site.json"])
    for reason in ("\x1b[2J", "\udcff"):
        said = refused("tell", "site.json", "1", "--failed", reason)
        assert "control characters" in said


NESTED = {
    "arrays": "a = " + "[" * 100_000,
    "closed arrays": "a = " + "[" * 5_000 + "]" * 5_000,
    "inline tables": "a = " + "{a=" * 20_000 + "1" + "}" * 20_000,
    "dotted keys": "a" + ".a" * 20_000 + " = 1",
    "headers": "[a" + ".a" * 20_000 + "]",
    "quoted keys": "a" + " . 'b c'" * 20_000 + " = 1",
    "one long name": "a" * 500_000,
    "many quotes": '"a' * 250_000,
}


@pytest.mark.parametrize("text", NESTED.values(), ids=NESTED)
def test_deeply_nested_toml_is_refused(text, folder):
    (folder / "deep.toml").write_text(text)
    assert "deep.toml" in refused("init", "new.json", "deep.toml", "--goal", "max")
    assert "deep.toml" in refused("study", "plan", "deep.toml")
    parts = {
        "init new.json deep.toml --goal max": "[parameters.x]\n",
        "study plan deep.toml": "[common]\n",
    }
    for command, head in parts.items():
        if not text.startswith("["):
            (folder / "deep.toml").write_text(head + text)
            refused(*command.split())


# Studies


@pytest.mark.parametrize(
    ("head", "more", "words"),
    [
        ("repetitions = 1000000000\n", "", "repetitions must be .* at most 10000"),
        ("first_seed = 10e400\n", "", "first_seed must be"),
        ("", "num_agents = 1000000000\n", "num_agents must be .* at most 10000"),
        (
            "repetitions = 10000\n",
            "level = [1,2,3]\nnum_rounds = LONG\n",
            "200000 runs",
        ),
        ("", "noise = LONG\nnum_rounds = LONG\nnum_initial = LONG\n", "200000 runs"),
        ('title = "\\u001b[2J"\n', "", "title must be .* control characters"),
        ("", 'name = "\\u0000"\n', "grid must be .* control characters"),
    ],
)
def test_study_without_end_is_refused(head, more, words, folder):
    axis = str(list(range(1, 1000)))
    (folder / "wide.toml").write_text(head + STUDY + more.replace("LONG", axis))
    assert re.search(words, refused("study", "plan", "wide.toml"))


def test_repetitions_of_a_command_have_a_limit(folder):
    (folder / "small.toml").write_text(STUDY)
    words = ["study", "plan", "small.toml", "--repetitions"]
    assert "at most 10000" in refused(*words, 10**9)
    assert "at least 1" in refused(*words, 0)


def test_run_with_too_many_agents_is_refused(folder):
    assert "at most 10000" in refused("run", "levy", "--dim", "2", "--agents", 10**9)
