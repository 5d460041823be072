"""Flower: the letters of sites inside a fleet that runs Flower already.

A site is linked to a folder on its own machine (`guidefbo join folder:/var/spool/north
...`) and puts its letters there. `client` carries what lies in that folder to `server`,
which answers on the coordinator's store, and carries the answers back: Flower takes the
place of the tool that would carry the files of a shared folder. Nothing else moves, and
what moves is signed by the site and by the coordinator. A letter is carried again until
its answer has come, and an answer to a letter that comes again is the same: a message
that Flower loses costs time and nothing else.

Settings of a SuperNode (`--node-config`):

    guidefbo-folder="/var/spool/north"     the folder; its letters and no other file

Settings of a run (`--run-config`):

    store="sqlite:////srv/guidefbo.db"     the coordinator's store
    pause=60.0                             seconds between two visits of a quiet site
    minutes=0.0                            how long to run; 0: until it is stopped

Neither half opens a site's observations: this module loads nothing that could.
"""

import logging
import re
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple, Protocol

import httpx
from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.supercore.inflatable.inflatable_utils import ObjectPushError

from guidefbo.core.errors import SettingsError, WireError
from guidefbo.core.files import InputError, read_file, write_atomically
from guidefbo.core.names import is_name
from guidefbo.wire.letter import MAX_LETTER

ACTION = "guide"
"""What messages are for; their type is `query.guide`."""
RECORD = "letters"
"""Name of the one record in a message."""
MAX_LETTERS = 16
"""Most letters of one message; the others follow with the next one."""
MAX_LENGTH = 4 * MAX_LETTER
"""Most bytes of one message."""
NAME = re.compile(r"[0-9a-f]{1,64}\.letter")
JOIN_FOLDER = "_join"
STEP = 1.0
"""Seconds between two looks for replies."""
TIME_TO_LIVE = 12 * 3600.0
"""Seconds after which Flower throws a message away; the next visit carries it again."""
LOST = 60.0
"""Seconds after which a visit without a reply is made again. A SuperLink that stops
while it hands a reply on takes that reply with it, and a SuperNode that stops while it
uploads one makes Flower wait three minutes for the rest."""
PAUSE, MINUTES = 60.0, 0.0
log = logging.getLogger(__name__)

client = ClientApp()
"""What a SuperNode runs."""
server = ServerApp()
"""What the SuperLink runs."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A letter, or its answer, and the place of its file in the folder."""

    place: str
    """`FEDERATION/SITE/NUMBER.letter`, or `_join/DIGEST.letter`."""
    data: bytes
    """As it is in the file."""

    def __post_init__(self) -> None:
        if not is_place(self.place):
            raise WireError(f"{self.place[:200]!r} is no place of a letter.")
        if not isinstance(self.data, bytes) or len(self.data) > MAX_LETTER:
            raise WireError(f"A letter has at most {MAX_LETTER} bytes.")


def is_place(text: Any) -> bool:
    """Whether a text names a file that a letter may have, and no other one.

    >>> is_place("reaction/north/000000000007.letter"), is_place("../site.json")
    (True, False)
    """
    parts = text.split("/") if isinstance(text, str) and len(text) <= 400 else []
    if len(parts) == 2:
        return parts[0] == JOIN_FOLDER and bool(NAME.fullmatch(parts[1]))
    is_long = len(parts) == 3 and is_name(parts[0]) and is_name(parts[1])
    return is_long and bool(NAME.fullmatch(parts[2]))


def to_content(carried: Iterable[Carried]) -> RecordDict:
    """Return the content of a Flower message."""
    letters = list(carried)
    record = ConfigRecord(
        {
            "places": [letter.place for letter in letters],
            "data": [letter.data for letter in letters],
        }
    )
    return RecordDict({RECORD: record})


def from_content(content: RecordDict) -> list[Carried]:
    """Return the letters in a message's content; what is no letter is refused."""
    record = content.get(RECORD)
    if not isinstance(record, ConfigRecord):
        raise WireError(f"Expected a record {RECORD!r}.")
    places, data = record.get("places", []), record.get("data", [])
    if not isinstance(places, list) or not isinstance(data, list):
        raise WireError("Expected lists of places and of letters.")
    if len(places) != len(data) or len(places) > MAX_LETTERS:
        raise WireError(f"Expected at most {MAX_LETTERS} letters with a place each.")
    return [Carried(*pair) for pair in zip(places, data, strict=True)]


@dataclass(frozen=True, slots=True)
class Spool:
    """A site's folder of letters, on its own machine."""

    folder: Path
    """With `in` for what the site asks and `out` for what it is answered."""

    def waiting(self) -> list[Carried]:
        """Return the letters that wait for an answer, the oldest numbers first."""
        found: list[Carried] = []
        length = 0
        inside = self.folder / "in"
        for path in sorted(inside.rglob("*.letter")):
            place = path.relative_to(inside).as_posix()
            if not is_place(place) or path.is_symlink():
                continue
            try:
                data = read_file(path, MAX_LETTER)
            except InputError as error:
                log.warning("%s is not carried: %s", place, error)
                continue
            length += len(data)
            if found and (length > MAX_LENGTH or len(found) == MAX_LETTERS):
                break
            found.append(Carried(place, data))
        return found

    def keep(self, answer: Carried) -> None:
        """Put an answer where the site looks for it; its letter is done."""
        question = self.folder / "in" / answer.place
        if not question.exists():
            return  # taken back by the site, or answered before
        out = self.folder / "out" / answer.place
        out.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(out, answer.data)
        question.unlink(missing_ok=True)


@client.query(ACTION)
def visit(message: Message, context: Context) -> Message:
    """Leave the answers that came, and take the letters that wait."""
    folder = context.node_config.get("guidefbo-folder")
    if not isinstance(folder, str) or not Path(folder).is_dir():
        raise SettingsError(
            "Expected the folder of this site's letters, got "
            f"guidefbo-folder={folder!r}. Start the SuperNode with --node-config "
            "'guidefbo-folder=\"/var/spool/north\"'."
        )
    spool = Spool(Path(folder))
    for answer in from_content(message.content):
        spool.keep(answer)
    return Message(to_content(spool.waiting()), reply_to=message)


class Desk(Protocol):
    """Where letters are answered."""

    def answer(self, data: bytes, *, limit: int, is_sealed: bool = False) -> Any:
        """Return the answer, with the status of HTTP."""
        ...


class Visit(NamedTuple):
    """A message to a node that has not been answered."""

    node: int
    since: float
    """When it was sent."""


class Look(NamedTuple):
    """A look for replies, in a thread of its own: Flower's call may take minutes."""

    replies: Future[list[Message]]
    """Those that were there."""
    since: float
    """When it began."""


def look(grid: Grid, numbers: list[str], now: float) -> Look:
    """Begin to look for the replies to messages."""
    replies: Future[list[Message]] = Future()

    def pull() -> None:
        try:
            replies.set_result(list(grid.pull_messages(numbers)))
        except Exception as error:
            replies.set_exception(error)

    # The end of the run does not wait for it.
    Thread(target=pull, name="guidefbo-look", daemon=True).start()
    return Look(replies, now)


def is_outage(error: Exception) -> bool:
    """Whether an error of the grid may pass, as those of a SuperLink that stops.

    Flower's own calls are repeated after most of those errors; a broken handshake of
    TLS, a database that is locked and a half of an upload end the whole run.

    >>> is_outage(httpx.ConnectError("[SSL: UNEXPECTED_EOF_WHILE_READING]"))
    True
    >>> is_outage(SettingsError("Expected the coordinator's store."))
    False
    """
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code >= 500
    return isinstance(error, httpx.TransportError | ObjectPushError)


@dataclass(slots=True)
class Round:
    """The visits to all nodes, none of which waits for another."""

    grid: Grid
    """Flower's way to the nodes."""
    desk: Desk
    """The coordinator's."""
    pause: float
    """Seconds between two visits of a node that had nothing to ask."""
    answers: dict[int, list[Carried]] = field(default_factory=dict[int, list[Carried]])
    """What the next visit of a node leaves there."""
    under_way: dict[str, Visit] = field(default_factory=dict[str, Visit])
    """Visits by the number of the message that is on its way."""
    looking: Look | None = None
    """The look for replies that has not come back."""
    due: dict[int, float] = field(default_factory=dict[int, float])
    """When a node is visited next."""

    def step(self, now: float) -> int:
        """Send messages to nodes that are due, read replies; return letters answered.

        Args:
            now: Seconds on any clock that never goes back.
        """
        for number, visit in list(self.under_way.items()):
            if now - visit.since > LOST:
                log.warning("node %d: no reply, visited again", visit.node)
                del self.under_way[number]
        busy = {visit.node for visit in self.under_way.values()}
        nodes = [n for n in self.grid.get_node_ids() if n not in busy]
        ready = [node for node in nodes if self.due.get(node, now) <= now]
        messages = [
            Message(
                content=to_content(self.answers.get(node, [])),
                dst_node_id=node,
                message_type=f"query.{ACTION}",
                ttl=TIME_TO_LIVE,
            )
            for node in ready
        ]
        if messages:
            sent = list(self.grid.push_messages(messages))
            for node, number in zip(ready, sent, strict=True):
                if number:
                    self.under_way[number] = Visit(node, now)
        return sum(self._read(reply, now) for reply in self._replies(now))

    def _replies(self, now: float) -> list[Message]:
        """Return the replies that are there, in a step's time or at a later step."""
        if self.looking is not None and now - self.looking.since > LOST:
            self.looking = None  # and all that it looked for is visited again
        if self.looking is None:
            self.looking = look(self.grid, list(self.under_way), now)
        found = self.looking.replies
        done, _ = wait([found], timeout=STEP)
        if not done:
            return []
        self.looking = None
        return found.result()

    def _read(self, reply: Message, now: float) -> int:
        """Answer the letters of a reply; return how many there were."""
        visit = self.under_way.pop(reply.metadata.reply_to_message_id, None)
        if visit is None:
            return 0
        node = visit.node
        self.due[node] = now + self.pause
        if reply.has_error():
            # Its answers go along with the next visit.
            log.warning("node %d: %s", node, reply.error)
            return 0
        self.answers.pop(node, None)
        try:
            letters = from_content(reply.content)
        except WireError as error:
            log.warning("node %d: %s", node, error)
            return 0
        found = [self._answer(letter) for letter in letters]
        self.answers[node] = [answer for answer in found if answer is not None]
        if self.answers[node]:
            self.due[node] = now
        return len(self.answers[node])

    def _answer(self, letter: Carried) -> Carried | None:
        answered = self.desk.answer(letter.data, limit=MAX_LETTER, is_sealed=True)
        if answered.status in (429, 503):
            return None  # it stays with the site, and comes again
        return Carried(letter.place, answered.body)


@server.main()
def serve(grid: Grid, context: Context) -> None:
    """Visit the nodes and answer their letters on the coordinator's store."""
    from guidefbo.coordinator.answer import open_desk
    from guidefbo.coordinator.schema import open_current

    address, pause, minutes = settings_of(context.run_config)
    store = open_current(address)
    desk = open_desk(store, rate=0.0)
    began = time.monotonic()
    round_ = Round(grid=grid, desk=desk, pause=pause)
    try:
        while minutes == 0.0 or time.monotonic() - began < 60.0 * minutes:
            try:
                num_answered = round_.step(time.monotonic())
            except Exception as error:
                if not is_outage(error):
                    raise
                log.warning("the nodes are out of reach, tried again: %s", error)
            else:
                if num_answered:
                    log.info("%d letters answered", num_answered)
            time.sleep(STEP)
    finally:
        desk.writer.close()
        store.close()


def settings_of(config: Mapping[str, Any]) -> tuple[str, float, float]:
    """Return the store, the pause and the minutes of a run, checked."""
    address = config.get("store")
    if not isinstance(address, str) or not address:
        raise SettingsError(
            "Expected the coordinator's store, got "
            f"store={address!r}. Say --run-config 'store=\"sqlite:////srv/gf.db\"'."
        )
    numbers: list[float] = []
    for name, usual in (("pause", PAUSE), ("minutes", MINUTES)):
        value = config.get(name, usual)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0.0 <= value < 1e9:
            raise SettingsError(f"{name} must be a number from 0, got {value!r}.")
        numbers.append(float(value))
    return address, numbers[0], numbers[1]
