"""`guidefbo audit`: what left a site and what came, in its own units."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from guidefbo.cli.opened import command
from guidefbo.connect.answers import sentence
from guidefbo.connect.audit import Entry
from guidefbo.connect.in_words import packet_words, upload_words
from guidefbo.connect.mailbox import Mailbox
from guidefbo.connect.places import Places
from guidefbo.core.errors import FedBOError
from guidefbo.site.setup import Setup


def audit_lines(file: Path, *, as_json: bool) -> Iterator[str]:
    """Go through the log, oldest first."""
    places = Places.of(file)
    log = Mailbox.open(places.mail).audit
    if as_json:
        for entry in log.entries():
            yield json.dumps({"event": entry.event, "at": entry.at, **entry.fields})
        return
    setup = _setup(file)
    count = 0
    for entry in log.entries():
        count += 1
        head, lines = _describe(entry, setup)
        yield f"{entry.at or 'unknown time'}  {head}"
        yield from (f"    {line}" for line in lines)
    yield f"{count} entries in {log.path}; times are this machine's"


def confirm_next(file: Path, *, is_sure: bool) -> None:
    """Show what would leave next and let it, if somebody says so."""
    from guidefbo.connect.link import Link

    link = Link(file)
    outgoing = link.due() if link.facts.speaks else None
    if outgoing is None:
        typer.echo("nothing waits: what was learnt so far is in the mailbox already")
        return
    facts = link.facts
    typer.echo(f"this would leave, for {facts.federation} at {facts.where}:")
    for line in outgoing.words:
        typer.echo(f"    {line}")
    typer.echo(f"as it travels: {outgoing.upload}")
    if not is_sure and not typer.confirm("May it leave at the next sync?"):
        typer.echo("it stays here; nothing has left")
        return
    link.release(outgoing)
    typer.echo(f"it leaves with: {command('sync', file)}")


def _setup(file: Path) -> Setup | None:
    """Return the setup of the agent, None where it may not be read."""
    from guidefbo.site.agent import Agent

    try:
        return Agent.load(file).setup
    except FedBOError:
        return None


def _describe(entry: Entry, setup: Setup | None) -> tuple[str, list[str]]:
    fields = entry.fields
    given: list[Any] = list(fields.get("words") or [])
    words = [str(line) for line in given]
    match entry.event:
        case "ready":
            told = f"{fields.get('sequence')} results and corrections"
            return f"ready to leave: made after {told}", words
        case "left":
            return _left(fields, words, setup)
        case "undelivered":
            head = f"not delivered, or not answered: letter {fields.get('number')}"
            return head, [str(fields.get("reason"))]
        case "came":
            return _came(fields, setup)
        case "taken":
            return "the agent took the packet", words
        case "refused":
            return f"not taken: {fields.get('reason')}", words
        case "succession":
            return "the coordinator has a new key, and its old one vouches for it", [
                f"before: {fields.get('former_key')}",
                f"now: {fields.get('public_key')}",
            ]
        case _:
            return f"a line that cannot be read ({fields.get('bytes')} bytes)", []


def _left(fields: Any, words: list[str], setup: Setup | None) -> tuple[str, list[str]]:
    letter: dict[str, Any] = dict(fields.get("letter") or {})
    purpose, upload = letter.get("purpose"), letter.get("upload")
    head = f"left: letter {letter.get('number')} ({purpose}) for {fields.get('where')}"
    if isinstance(upload, str):
        return head, words or ([] if setup is None else upload_words(upload, setup))
    if purpose == "exchange":
        return head, ["no upload: the coordinator has the newest one"]
    own = {"purpose", "number", "federation", "site"}
    said = {k: v for k, v in letter.items() if k not in own and v is not None}
    return head, [f"{k}: {v}" for k, v in said.items()]


def _came(fields: Any, setup: Setup | None) -> tuple[str, list[str]]:
    letter: dict[str, Any] = dict(fields.get("letter") or {})
    head = f"came: the answer to letter {letter.get('number')}"
    packet = letter.get("packet")
    if isinstance(packet, str):
        lines = [] if setup is None else packet_words(packet, setup)
        return head, ["a packet", *lines]
    if "packet" in letter:
        return head, [f"no packet: {sentence(letter.get('reason'), 'no reason')}"]
    return head, []
