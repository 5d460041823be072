"""A store with a federation, and sites that write letters to it."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from guidefbo.coordinator import host
from guidefbo.coordinator.answer import open_desk
from guidefbo.coordinator.schema import open_current
from guidefbo.core.space.form import fingerprint, space_from_form
from guidefbo.wire.codec import read
from guidefbo.wire.envelope import Envelope, PacketHead, Terms, UploadHead
from guidefbo.wire.guide import GuidancePacket, OptimumUpload
from guidefbo.wire.keys import SigningKey
from guidefbo.wire.letter import open_letter, peek, read_letter, seal

SPACE = {
    "parameters": {
        "dose": {"type": "float", "low": 0.1, "high": 10.0, "log": True},
        "heat": {"type": "float", "low": 0.0, "high": 1.0, "log": False},
    }
}
LIMIT = 64 << 10


def terms(federation="reaction"):
    return Terms(
        federation=federation,
        space=fingerprint(space_from_form(SPACE)),
        strategy="guide",
    )


def make_upload(site, sequence, federation="reaction", center=None):
    """Return an upload of GUIDE in two dimensions, as text."""
    if center is None:
        # Another place for every site and sequence, the same whenever it is made.
        stream = np.random.default_rng([len(site), *site.encode(), sequence])
        center = stream.random(2)
    body = OptimumUpload(
        mass=0.5,
        center=np.asarray(center, dtype=float),
        variance=np.full(2, 0.01),
        value_score=0.1,
    )
    head = UploadHead(terms=terms(federation), site=site, sequence=sequence)
    return Envelope(head=head, body=body).to_bytes().decode()


def read_packet(text):
    return read(text.encode(), GuidancePacket, PacketHead)


@dataclass
class Site:
    """A site's end of the wire, as small as can be."""

    name: str
    federation: str = "reaction"
    key: SigningKey = field(default_factory=SigningKey.make)
    number: int = 0

    def letter(self, purpose, **fields):
        self.number += 1
        payload = {
            "purpose": purpose,
            "federation": self.federation,
            "site": self.name,
            "number": self.number,
            **fields,
        }
        return seal(payload, self.key)

    def join(self, code, space=None):
        self.number += 1
        payload = {
            "purpose": "join",
            "federation": None,
            "site": None,
            "number": self.number,
            "code": code,
            "public_key": self.key.public,
            "space": space,
        }
        return seal(payload, self.key)

    def exchange(self, sequence=None, held=None, **changes):
        upload = (
            None
            if sequence is None
            else make_upload(self.name, sequence, self.federation)
        )
        fields = {"upload": upload, "held": held, **changes}
        return self.letter("exchange", **fields)


class World:
    """A coordinator without a network."""

    def __init__(self, address, **setup):
        self.address = address
        self.store = open_current(address, create=True)
        self.desk = open_desk(self.store, rate=0.0)
        if setup.pop("create", True):
            self.create(**setup)

    def create(self, name="reaction", method="guide-ucb", **setup):
        return host.create(self.store, name, SPACE, goal="max", method=method, **setup)

    def restart(self):
        """Forget all that a process may hold."""
        self.close()
        self.store = open_current(self.address)
        self.desk = open_desk(self.store, rate=0.0)

    def close(self):
        self.desk.writer.close()
        self.store.close()

    def ask(self, letter, **options):
        """Return the status, and what the answer says."""
        opened = self.desk.open(letter, limit=LIMIT, **options)
        got = self.desk.take(opened).result(timeout=30)
        if got.status != 200:
            return got.status, json.loads(got.body)
        return 200, checked(got.body, letter, self.public_key)

    def ok(self, letter):
        status, said = self.ask(letter)
        assert status == 200, said
        return said

    def refused(self, letter, **options):
        """Return the code of a refusal."""
        status, said = self.ask(letter, **options)
        assert status >= 400, said
        assert set(said) == {"error", "message"}
        assert len(said["message"]) > 10
        return said["error"]

    @property
    def public_key(self):
        from guidefbo.coordinator.federation import signing_key

        with self.store.reading() as connection:
            return signing_key(connection).public

    def joined(self, *names, federation="reaction", role="site"):
        sites = [Site(name, federation) for name in names]
        for site in sites:
            code = host.invite(self.store, federation, site.name, role=role).code
            self.ok(site.join(code))
        return sites

    def together(self, letters):
        """Hand over letters at the same time."""
        with ThreadPoolExecutor(max_workers=16) as pool:
            return list(pool.map(self.ask, letters))


def checked(answer, letter, public_key):
    """Return an answer's payload once it is certain that it answers this letter."""
    opened = open_letter(answer, public_key)
    asked = read_letter(letter)
    assert opened.payload["answers"] == asked.digest
    assert opened.number == asked.number
    if asked.payload["federation"] is not None:
        assert opened.payload["federation"] == asked.payload["federation"]
        assert opened.payload["site"] == asked.payload["site"]
    assert peek(answer) == opened.payload
    return dict(opened.payload)
