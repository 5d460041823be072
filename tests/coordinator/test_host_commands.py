"""The host's commands, as a person types them."""

import json
import re

import pytest
from tests.coordinator.world import SPACE, Site, World
from typer.testing import CliRunner

from guidefbo.cli.app import app

TOML = """
[parameters.dose]
type = "float"
low = 0.1
high = 10
log = true

[parameters.heat]
type = "float"
low = 0
high = 1
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GUIDEFBO_STORE", raising=False)
    (tmp_path / "space.toml").write_text(TOML)
    return tmp_path


def do(*words):
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 0, done.output
    return done.stdout


def refuse(*words):
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 2, done.output
    assert "Traceback" not in done.output
    return " ".join(done.stderr.split())


def create(*more):
    words = ("reaction", "space.toml", "--goal", "max", "--method", "guide-ucb")
    return do("federation", "create", *words, *more)


def test_a_sum_that_no_steps_make_is_refused(folder):
    text = TOML.replace("low = 0.1", "low = 0.1\nstep = 0.2").replace("log = true", "")
    text += "step = 0.2\n[[constraints]]\nsum_to = 1\nof = ['dose', 'heat']\n"
    (folder / "space.toml").write_text(text)
    words = ("reaction", "space.toml", "--goal", "max", "--method", "guide-ucb")
    assert "Expected steps that can add up" in refuse("federation", "create", *words)


def test_an_evening_of_a_host(folder):
    assert "next: guidefbo federation invite reaction SITE" in create()
    code = do("federation", "invite", "reaction", "north").strip()
    assert re.fullmatch(r"[0-9A-Z]{4}(-[0-9A-Z]{4}){3}", code)
    world = World("guidefbo.db", create=False)
    site = Site("north")
    assert world.ok(site.join(code))["space"] == SPACE
    world.ok(site.exchange(12))
    assert "reaction  open   guide-ucb  max   1      1        1" in do(
        "federation", "list"
    )
    listed = do("federation", "sites", "reaction")
    assert re.search(r"site +state +role +results and corrections +uploads", listed)
    assert re.search(r"north +joined +site +12 +1 +20", listed)
    assert do("federation", "key").strip() == world.public_key
    token = do("federation", "reader", "reaction", "board").strip()
    assert len(token) > 30
    assert "no longer" in do("federation", "reader", "reaction", "board", "--remove")
    do("federation", "export", "reaction", "-o", "reaction.json")
    assert json.loads((folder / "reaction.json").read_text())["name"] == "reaction"
    assert "rows copied" in do("federation", "backup", "copy.db")
    assert "reaction" in do("federation", "list", "--store", "copy.db")
    do("federation", "revoke", "reaction", "north", "--forget")
    assert world.refused(site.exchange(13)) == "revoked"
    assert do("federation", "close", "reaction") == "reaction is closed\n"
    assert do("federation", "close", "reaction", "--reopen") == "reaction is open\n"
    world.close()


def test_store_by_environment(folder, monkeypatch):
    monkeypatch.setenv("GUIDEFBO_STORE", "elsewhere.db")
    # The service's own words are no matter of the host's commands.
    monkeypatch.setenv("GUIDEFBO_HOST", "0.0.0.0")
    create()
    assert (folder / "elsewhere.db").exists()
    assert not (folder / "guidefbo.db").exists()
    create("--store", "third.db")
    assert (folder / "third.db").exists()


def test_settings_and_sizes(folder):
    create("--set", "packet_size=2", "--set", "beta=9", "--min-sites", "2")
    world = World("guidefbo.db", create=False)
    code = do("federation", "invite", "reaction", "north").strip()
    said = world.ok(Site("north").join(code))
    assert said["settings"] == {"packet_size": 2, "beta": 9.0}
    assert said["min_sites"] == 2
    world.close()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["create", "f", "space.toml"], "Say what is better"),
        (["create", "f", "nowhere.toml", "--goal", "max"], "Cannot read the space"),
        (
            ["create", "f", "space.toml", "--goal", "max", "--method", "guide-ucd"],
            "Did you mean 'guide-ucb'",
        ),
        (
            ["create", "f", "space.toml", "--goal", "max", "--method", "ucb"],
            "exchange nothing",
        ),
        (
            ["create", "f", "space.toml", "--goal", "max", "--method", "cgp-ucb"],
            "cgp-ucb runs in simulations only: it compares the values of one site",
        ),
        (
            ["create", "f", "space.toml", "--goal=max", "--method=shared-data-ucb"],
            "shared-data-ucb runs in simulations only: it sends every observation",
        ),
        (
            ["create", "f", "space.toml", "--goal", "max", "--set", "pooing=3"],
            "Did you mean 'pooling'",
        ),
        (["create", "a b", "space.toml", "--goal", "max"], "federation's name"),
        (["list"], "There is no store guidefbo.db"),
        (["list", "--store", "mysql://x/y"], "sqlite or postgresql"),
    ],
)
def test_refusals_are_sentences(folder, words, said):
    assert said in refuse("federation", *words)
    assert not (folder / "guidefbo.db").exists() or words[1] == "a b"


def test_names_that_are_not_there(folder):
    create()
    assert "Did you mean 'reaction'" in refuse("federation", "sites", "reacton")
    assert "no site 'north'" in refuse("federation", "revoke", "reaction", "north")
    assert "already" in refuse(
        "federation", "create", "reaction", "space.toml", "--goal", "max"
    )


def test_invitation_that_was_not_used_can_be_revoked(folder):
    create()
    code = do("federation", "invite", "reaction", "north").strip()
    do("federation", "revoke", "reaction", "north")
    world = World("guidefbo.db", create=False)
    assert world.refused(Site("north").join(code)) == "unknown_code"
    world.close()


def test_every_command_has_help_with_an_example():
    import typer

    group = typer.main.get_command(app).commands["federation"]
    assert set(group.commands) >= {
        "create",
        "invite",
        "list",
        "sites",
        "revoke",
        "close",
        "export",
        "backup",
        "turn",
        "reader",
        "key",
    }
    for name, command in group.commands.items():
        assert command.help, name
        assert f"guidefbo federation {name}" in command.epilog
