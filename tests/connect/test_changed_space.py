"""A host changes the space, and its sites follow: commands as people type them."""

import json
import shlex

import pytest
from tests.connect.real import Host, command
from typer.testing import CliRunner

from guidefbo import Agent
from guidefbo.cli.app import app
from guidefbo.cli.speech import ALONE
from guidefbo.core.space.form import fingerprint

SPACE = """
[parameters.heat]
type = "float"
low = 20
high = 120

[parameters.drug]
type = "choice"
options = ["a", "b"]
"""
WIDER = SPACE.replace("high = 120", "high = 130").replace('"b"]', '"b", "c"]')
SITES = ("north", "south")


def tell_some(file, values):
    for heat, value in values:
        command("tell", file, f"heat={heat},drug=a", value)


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path / "host", space=SPACE)


def test_a_change_reaches_the_sites_and_they_exchange_again(host, tmp_path):
    new = tmp_path / "wider.toml"
    new.write_text(WIDER)
    files = {site: tmp_path / f"{site}.json" for site in SITES}
    with host.serving() as where:
        for k, (site, file) in enumerate(files.items()):
            command("join", where, "--code", host.invite(site), file)
            tell_some(file, [(30 + k, 1.0), (60, 2.0 + k), (100, 1.5)])
            command("sync", file)
        assert "took a new packet" in command("sync", files["north"])

        said = host("federation", "change", "reaction", new, "--dry-run")
        assert "heat: high 120 -> 130" in said
        said = host("federation", "change", "reaction", new)
        assert "drug: options a, b -> a, b, c" in said
        assert "uploads no longer used: 2" in said
        assert "sites that have to follow: north, south" in said
        follow = "guidefbo change FILE --bounds heat=20,130 --add-option drug=c"
        assert follow in said

        # Nothing new to hand over, something new: both are told the same.
        north, south = files.values()
        told = " ".join(command("sync", north).split())
        assert f"guidefbo change {north} --bounds heat=20,130" in told
        tell_some(south, [(50, 1.7)])
        done = CliRunner().invoke(app, ["sync", str(south)])
        assert done.exit_code == ALONE
        told = " ".join(done.stderr.split())
        assert "heat: high 120 -> 130; drug: options a, b -> a, b, c" in told
        # Only the command that it says makes the next one succeed.
        assert "nothing is lost: the agent works on\n" in done.stdout
        # It asks as before meanwhile.
        command("ask", south)

        command("change", north, "--bounds", "heat=20,130", "--add-option", "drug=c")
        command("change", south, "--like", new)
        spaces = [Agent.load(file).space for file in files.values()]
        assert spaces[0] == spaces[1]
        assert [len(Agent.load(file).trials) for file in files.values()] == [3, 5]

        said = command("sync", north)
        assert "handed over: what was learnt from 3 results" in said
        assert "1 uploads; 2 are needed" in said
        assert "handed over: what was learnt from 4 results and" in command(
            "sync", south
        )
        assert "took a new packet" in command("sync", north)
    assert Agent.load(north).guidance.state == "active"


def test_like_refuses_what_is_more_than_a_change(tmp_path):
    (tmp_path / "space.toml").write_text(SPACE)
    other = SPACE.replace("parameters.heat", "parameters.time")
    (tmp_path / "other.toml").write_text(other)
    file = tmp_path / "site.json"
    command("init", file, tmp_path / "space.toml", "--goal", "max")
    words = ["change", str(file), "--like", str(tmp_path / "other.toml")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    assert "Only bounds and further options" in " ".join(done.stderr.split())
    assert Agent.load(file).setup.version == 1


def choice(*options):
    """Return the file of a space with a number and a choice of these options."""
    return (
        '[parameters.x]\ntype = "float"\nlow = 0\nhigh = 1\n'
        f'[parameters.c]\ntype = "choice"\noptions = {json.dumps(options)}\n'
    )


@pytest.mark.parametrize(
    ("options", "added", "is_typed"),
    [
        (("none", 5, 10), 20, False),
        ((1, "a"), 3, False),
        (("1", "b"), True, False),
        (("1", "b"), " c", False),
        (("1", "b"), "two  spaces", False),
        (("1", "b"), "c.", False),
        (("1", "b"), "", False),
        ((1, 2), "x", False),
        ((True, 2), 3, False),
        ((1, 2), 0.1, True),
        (("none", 5), "5 mol", True),
    ],
)
def test_the_command_that_is_told_leads_to_the_space_of_the_host(
    options, added, is_typed, tmp_path
):
    host = Host(tmp_path / "host", space=choice(*options))
    file, new = tmp_path / "site.json", tmp_path / "new.toml"
    command("init", file, tmp_path / "host" / "space.toml", "--goal", "max")
    new.write_text(choice(*options, added))
    said = host("federation", "change", "reaction", new).splitlines()[-1]
    told = said.removeprefix("each of them: ").removesuffix(", then guidefbo sync FILE")
    told = told.removesuffix(", with the host's file")
    places = {"FILE": str(file), "SPACE.toml": str(new)}
    words = [places.get(word, word) for word in shlex.split(told)[1:]]
    assert ("--like" not in words) == is_typed
    command(*words)
    changed = Agent.load(file).space
    command("init", tmp_path / "other.json", new, "--goal", "max")
    assert fingerprint(changed) == fingerprint(
        Agent.load(tmp_path / "other.json").space
    )


def test_commands_can_be_copied_whatever_things_are_called(tmp_path):
    space = '[parameters."flow rate"]\ntype = "float"\nlow = 0.1\nhigh = 10\n'
    space += '[parameters.PROFILE]\ntype = "int"\nlow = 1\nhigh = 9\n'
    host = Host(tmp_path / "host", space=space)
    new = tmp_path / "new.toml"
    new.write_text(space.replace("high = 10", "high = 20").replace("= 9", "= 8"))
    file, late = tmp_path / "my site.json", tmp_path / "a late one.json"
    command("init", late, tmp_path / "host" / "space.toml", "--goal", "max")
    told = "change '{}' --bounds 'flow rate=0.1,20' --bounds PROFILE=1,8"
    with host.serving() as where:
        command("join", where, "--code", host.invite("a"), file)
        command("tell", file, "flow rate=1,PROFILE=2", 1)
        command("sync", file)
        host("federation", "change", "reaction", new)
        assert told.format(file) in command("sync", "--mail-only", file)
        assert told.format(file) in command("sync", file)
        command("tell", file, "flow rate=2,PROFILE=2", 1)
        refused = CliRunner().invoke(app, ["sync", str(file)])
        assert told.format(file) in " ".join(refused.stderr.split())
        refused = CliRunner().invoke(app, ["sync", "--mail-only", str(file)])
        assert refused.exit_code == 2
        assert told.format(file) in " ".join(refused.stderr.split())
        words = ["join", where, "--code", host.invite("b"), str(late)]
        refused = CliRunner().invoke(app, words)
        assert told.format(late) in " ".join(refused.stderr.split())
        said = refused.stderr.split("guidefbo change")[1].strip().removesuffix(".")
        command("change", *shlex.split(said))
        command(*words)
