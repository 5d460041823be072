"""Joining a federation with a one-time code.

A key is made here and only its public half is sent. The letter is on disk before it
leaves, and until the site has joined the same letter is sent again, so that a code is
never lost to a crash or a cut line.
"""

import shlex
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from guidefbo.connect.answers import check_answer, check_first_answer
from guidefbo.connect.errors import (
    ForeignAnswerError,
    LinkError,
    OfflineError,
    RefusedError,
)
from guidefbo.connect.forms import read_form, write_form
from guidefbo.connect.link_file import LinkFile
from guidefbo.connect.mailbox import MAX_FILE, Mailbox, State
from guidefbo.connect.places import Places
from guidefbo.connect.transport import Post, Transport, Way, check_where
from guidefbo.core.checks import MAX_AGENTS, is_plain_text, shown
from guidefbo.core.errors import FedBOError, SettingsError
from guidefbo.core.files import OutputError
from guidefbo.core.space.form import fingerprint, space_from_form
from guidefbo.core.space.parameters import Float
from guidefbo.core.space.space import Space
from guidefbo.site.agent import Agent
from guidefbo.site.setup import Setup
from guidefbo.wire.envelope import MAX_SEQUENCE, Terms
from guidefbo.wire.keys import SigningKey, require_public
from guidefbo.wire.letter import JOIN, seal

JOINING = "guidefbo-joining"
MAX_CODE = 200
"""Longest code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Joining:
    """What a site says when it joins."""

    places: Places
    """Its files."""
    where: str
    """The coordinator: `https://host:8443` or `folder:DIR`."""
    code: str = field(repr=False)
    """The invitation's code."""
    coordinator_key: str | None = None
    """The coordinator's public key, if the host gave it: it has signed the answer, or
    vouches for the key that has. None: the one that answers is kept."""
    ca: Path | None = None
    """The certificate authority that vouches for the address."""
    is_insecure: bool = False
    """Whether plain HTTP to another machine is allowed."""
    needs_confirmation: bool = False
    """Whether nothing leaves before somebody looked at it."""
    group: str | None = None
    """Group of the user that talks to the network; None: the same user does."""
    seed: int | None = None
    """Seed of a new agent; None: of its name."""
    noise: float | None = None
    """Standard deviation of one observation of a new agent."""
    initial: int | None = None
    """Size of a new agent's initial design."""
    patience: float = 10.0
    """Seconds to wait for an answer in a folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """A site that has joined."""

    link: LinkFile
    """Its link."""
    agent: Agent
    """Its agent."""
    is_new: bool
    """Whether the agent was created."""
    new_key: str | None = None
    """The coordinator's key, where it is not the one that the host gave, which vouches
    for it."""


def join(
    wish: Joining, *, notice: Callable[[str], object] | None = None
) -> Joined | None:
    """Join a federation; None where a folder's answer has not come yet.

    Args:
        wish: Who joins what.
        notice: Called with a sentence where something is worth knowing.
    """
    places = wish.places
    where = check_where(wish.where, is_insecure=wish.is_insecure)
    pinned = wish.coordinator_key
    if pinned is not None:
        pinned = require_public(pinned, "--coordinator-key")
    known = places.mail / "joining.json"
    if places.link.exists() and not known.exists():
        link = LinkFile.load(places.link)
        raise LinkError(
            f"{places.file} is linked as {link.site!r} to the federation "
            f"{link.federation!r} at {link.where}. Leave it first: guidefbo leave "
            f"{shlex.quote(str(places.file))}, with --anyway where its coordinator "
            "does not confirm it."
        )
    own = Agent.load(places.file) if places.file.exists() else None
    # Before anything is kept, and before the code is used.
    _check_wishes(wish)
    if wish.group is not None:
        _check_group(places, wish.group)
    way = Way(where=where, ca=wish.ca, patience=wish.patience)
    transport = way.open()
    mailbox = Mailbox.make(places.mail)
    with mailbox.held(notice=notice):
        post = _letter(wish, where, mailbox, own)
        payload = _ask(post, where, mailbox, transport, pinned)
        if payload is None:
            return None
        link, terms, number = _read(payload, wish, where)
        agent, is_new = _fit(own, payload, wish, link, terms)
        if is_new:
            agent.save(places.file)
        elif notice is not None and agent.goal != payload.get("goal"):
            notice(
                f"the federation's goal is {shown(payload.get('goal'))}, and "
                f"{places.file} has {agent.goal}: messages are turned so that larger "
                "is better, so both may be right. Look whether they are."
            )
        link.save(places.link)
        # Numbers go on where an earlier membership ended.
        mailbox.forget()
        mailbox.set_state(State(number=max(number, mailbox.state().number)))
        transport.finish(post)
        known.unlink(missing_ok=True)
        if wish.group is not None:
            share(places, wish.group)
    new_key = None if pinned in (None, link.coordinator_key) else link.coordinator_key
    return Joined(link=link, agent=agent, is_new=is_new, new_key=new_key)


def share(places: Places, group: str) -> None:
    """Give a group what talks to the network needs, and nothing else."""
    try:
        for path in (places.link, places.key, places.mail, *places.mail.iterdir()):
            shutil.chown(path, group=group)
        places.link.chmod(0o640)
        places.key.chmod(0o640)
        # New files of the mailbox get the group of the folder.
        places.mail.chmod(0o2770)
        for path in places.mail.iterdir():
            path.chmod(0o660)
    except (OSError, LookupError) as error:
        raise _not_given(places, group, error) from error


def _check_group(places: Places, group: str) -> None:
    """Refuse a group to which a file that stands beside the agent's cannot be given."""
    try:
        with tempfile.NamedTemporaryFile(dir=places.file.parent) as probe:
            shutil.chown(probe.name, group=group)
    except (OSError, LookupError) as error:
        raise _not_given(places, group, error) from error


def _not_given(places: Places, group: str, error: Exception) -> OutputError:
    return OutputError(
        f"Cannot give the group {group!r} the mailbox {places.mail}: {error}. Is "
        "there such a group, and are you in it?"
    )


def _check_wishes(wish: Joining) -> None:
    """Refuse what no new agent can have, whatever the federation's space is."""
    Setup(
        space=Space(x=Float(0, 1)),
        goal="max",
        seed=0 if wish.seed is None else wish.seed,
        noise=wish.noise,
        initial=wish.initial,
        knows_method=False,
    )


def _letter(wish: Joining, where: str, mailbox: Mailbox, own: Agent | None) -> Post:
    """Return the letter of an attempt before this one, or a new one, on disk."""
    known = mailbox.path / "joining.json"
    if known.exists():
        form = read_form(known, JOINING, {"where", "letter"}, limit=MAX_FILE)
        post = Post.of(str(form["letter"]).encode())
        if form["where"] == where and post.letter.payload.get("code") == wish.code:
            return post
        known.unlink()
    if not is_plain_text(wish.code) or not 0 < len(wish.code) <= MAX_CODE:
        raise SettingsError(
            f"Expected the code of an invitation such as ABCD-EFGH, got "
            f"{shown(wish.code)}."
        )
    key_path = wish.places.key
    # A key that was made and not used is as good as a new one.
    key = SigningKey.load(key_path) if key_path.exists() else SigningKey.make()
    if not key_path.exists():
        key.save(key_path)
    payload = {
        "purpose": JOIN,
        "federation": None,
        "site": None,
        "number": mailbox.state().number + 1,
        "code": wish.code,
        "public_key": key.public,
        "space": None if own is None else fingerprint(own.space),
    }
    post = Post.of(seal(payload, key))
    form = {"where": where, "letter": post.data.decode()}
    write_form(known, JOINING, form, mode=0o600)
    return post


def _ask(
    post: Post, where: str, mailbox: Mailbox, transport: Transport, pinned: str | None
) -> Mapping[str, Any] | None:
    """Return the coordinator's answer, None where it has not come yet."""
    shown_payload = dict(post.letter.payload) | {"code": "(not kept)"}
    mailbox.audit.add("left", where=where, letter=shown_payload, words=[])
    try:
        answer = transport.deliver(post)
        if answer is None:
            return None
        if pinned is None:
            checked = check_first_answer(answer, post.letter)
        else:
            checked = check_answer(answer, post.letter, pinned)
        payload = checked.answer()
    except OfflineError as error:
        mailbox.audit.add("undelivered", number=post.letter.number, reason=str(error))
        raise
    except (RefusedError, ForeignAnswerError) as error:
        mailbox.audit.add("refused", number=post.letter.number, reason=str(error))
        transport.finish(post)
        if isinstance(error, RefusedError) and not error.is_passing:
            (mailbox.path / "joining.json").unlink(missing_ok=True)
        raise
    if payload.get("coordinator_key") != checked.key:
        raise ForeignAnswerError(
            "The coordinator names another key than the one that has signed its "
            "answer. Nothing was taken."
        )
    mailbox.audit.add("came", letter=dict(payload))
    return payload


def _read(
    payload: Mapping[str, Any], wish: Joining, where: str
) -> tuple[LinkFile, Terms, int]:
    """Return the link, the federation's terms and the last number, all checked."""
    try:
        link = LinkFile(
            where=where,
            federation=payload["federation"],
            site=payload["site"],
            coordinator_key=payload["coordinator_key"],
            role=payload["role"],
            min_sites=payload["min_sites"],
            ca=None if wish.ca is None else str(wish.ca.resolve()),
            is_insecure=wish.is_insecure,
            needs_confirmation=wish.needs_confirmation,
        )
        terms = Terms(**payload["terms"])
        number = payload.get("last_number", payload["number"])
        if type(number) is not int or not 0 <= number <= MAX_SEQUENCE:
            raise LinkError(f"last_number must be a number, got {shown(number)}.")
        if terms.federation != link.federation:
            raise LinkError("the terms are of another federation.")
    except (FedBOError, KeyError, TypeError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise ForeignAnswerError(
            f"The coordinator's answer cannot be used: {what} Do both sides have the "
            "same guidefbo?"
        ) from error
    return link, terms, number


def _fit(
    own: Agent | None,
    payload: Mapping[str, Any],
    wish: Joining,
    link: LinkFile,
    terms: Terms,
) -> tuple[Agent, bool]:
    """Return the agent of the site, the one that is there or a new one."""
    if own is not None:
        own_terms = own.setup.terms
        known = Terms(
            federation=terms.federation,
            space=own_terms.space,
            strategy=own_terms.strategy,
            strategy_version=own_terms.strategy_version,
        )
        difference = terms.difference(known, here="the federation")
        shared = payload.get("seed")
        if difference is None and shared not in (None, own.setup.seed):
            difference = (
                f"its sites draw the same random functions from the seed {shared}, and "
                f"this agent has the seed {own.setup.seed}"
            )
        if difference is not None:
            raise LinkError(
                f"{wish.places.file} does not fit the federation "
                f"{link.federation!r}: {difference}. Move it away and say the same "
                "command again: a new agent is created, and your results can be told "
                "to it (guidefbo tell FILE --csv RESULTS.csv)."
            )
        names = (own.setup.federation, own.setup.site)
        if names != (link.federation, link.site):
            with Agent.update(wish.places.file) as own:
                own.rename(site=link.site, federation=link.federation)
        return own, False
    try:
        return _create(payload, wish, link, terms), True
    except (FedBOError, KeyError, TypeError) as error:
        what = f"{error} is missing." if isinstance(error, KeyError) else str(error)
        raise ForeignAnswerError(
            f"No agent can be made of the coordinator's answer: {what} Do both sides "
            "have the same guidefbo?"
        ) from error


def _create(
    payload: Mapping[str, Any], wish: Joining, link: LinkFile, terms: Terms
) -> Agent:
    # Sites of one federation begin with different questions.
    name = f"{link.federation}/{link.site}".encode()
    own_number = int.from_bytes(sha256(name).digest()[:4])
    seed, agent_id = wish.seed, 0
    if seed is None:
        seed = own_number
    if payload.get("seed") is not None:
        # What all draw alike hangs on the seed, what each draws for itself on its id.
        seed, agent_id = payload["seed"], own_number % MAX_AGENTS
    agent = Agent(
        space_from_form(payload["space"]),
        goal=payload["goal"],
        method=payload["method"],
        settings=payload["settings"],
        seed=seed,
        agent_id=agent_id,
        noise=wish.noise,
        initial=wish.initial,
        site=link.site,
        federation=link.federation,
    )
    difference = terms.difference(agent.setup.terms)
    if difference is not None:
        raise LinkError(f"the method and the terms disagree: {difference}.")
    return agent
