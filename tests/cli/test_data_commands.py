"""`guidefbo data`: what it prints, and its sentences for mistakes."""

import pytest
from tests.problems.datasets.sets import CONTENT, dataset, file_of, register, single
from tests.problems.datasets.web import serving
from typer.testing import CliRunner

from guidefbo.cli.app import app
from guidefbo.problems.datasets import registry


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.delenv("GUIDEFBO_DATA", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(registry, "DATASETS", registry.DATASETS)


def invoke(*words):
    return CliRunner().invoke(app, ["data", *words])


def test_list_of_a_fresh_machine():
    done = invoke("list")
    assert done.exit_code == 0
    header, *lines = done.stdout.splitlines()
    assert header.split() == ["name", "problem", "sites", "size", "licence", "where"]
    assert [line.split()[0] for line in lines] == list(registry.DATASETS)
    assert all(line.endswith("  not here") for line in lines)
    assert "29     1.1 MB" in lines[0]


def test_list_says_where_and_whether_it_is_the_tested_copy(tmp_path, monkeypatch):
    copy = tmp_path / "copy"
    for name in ("small", "landmine"):
        (copy / name).mkdir(parents=True)
    monkeypatch.setenv("GUIDEFBO_DATA", str(copy))
    register(single("https://example.org/x"))
    (copy / "small" / "data.bin").write_bytes(CONTENT)
    assert invoke("list").stdout.splitlines()[1].endswith(f"  {copy / 'small'}")
    (copy / "small" / "data.bin").write_bytes(b"mine")
    last = invoke("list").stdout.splitlines()[1]
    assert last.endswith(f"{copy / 'small'}, not the tested copy: data.bin")


def test_list_names_an_archive_that_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setenv("GUIDEFBO_DATA", str(tmp_path))
    (tmp_path / "har").mkdir()
    archive = tmp_path / "har" / "uci_har_original_files.tar.xz"
    archive.write_bytes(b"")
    assert f"{archive}, packed" in invoke("list").stdout


def test_fetch_prints_where_it_is_and_the_terms(tmp_path):
    with serving() as web:
        web.files["data.bin"] = CONTENT
        register(single(f"{web.address}/good/data.bin"))
        done = invoke("fetch", "small")
        again = invoke("fetch", "small")
    assert done.exit_code == 0, done.output
    place = tmp_path / "data" / "guidefbo" / "small"
    assert done.stdout.splitlines() == [
        f"small is in {place}",
        "Licence: MIT. Yes.",
        "Cite: Nobody, 2020.",
    ]
    assert again.stdout == done.stdout
    assert (place / "data.bin").read_bytes() == CONTENT


def test_fetch_that_fails_is_one_sentence_on_stderr():
    with serving() as web:
        register(single(f"{web.address}/404/data.bin"))
        done = invoke("fetch", "small")
    assert done.exit_code == 2
    assert done.stdout == ""
    said = " ".join(done.stderr.split())
    assert "answered 404" in said
    assert "By hand: get it from" in said
    assert "Traceback" not in done.stderr


def test_fetch_of_what_is_not_public_as_a_file():
    register(dataset([file_of("t.npz", b"x")], by_hand="Ask for it."))
    done = invoke("fetch", "small")
    assert done.exit_code == 2
    assert "Ask for it. By hand" in " ".join(done.stderr.split())


def test_unknown_name():
    done = invoke("fetch", "landmines")
    assert done.exit_code == 2
    assert "Did you mean 'landmine'" in done.stderr
