"""Any sequence of letters, host's commands and restarts, beside a small model of it.

GUIDEFBO_SEQUENCES says how many the long set tries; before a release 5000.
"""

import itertools
import json
import os
import tempfile
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from tests.coordinator.world import Site, World, make_upload

from guidefbo.coordinator import host
from guidefbo.coordinator.members import newest_uploads
from guidefbo.wire.keys import SigningKey

NAMES = ("north", "south", "west")
names = st.sampled_from(NAMES)
NUM_SEQUENCES = int(os.environ.get("GUIDEFBO_SEQUENCES", "100"))


@cache
def empty_store():
    """Return the file of a store with a federation; to make it anew takes long."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/guidefbo.db"
        World(path, min_sites=2).close()
        with open(path, "rb") as file:
            return file.read()


class Sequences(RuleBasedStateMachine):
    """The model: who is a member with which key, and which upload is the newest."""

    @initialize()
    def begin(self):
        self.folder = tempfile.TemporaryDirectory()
        path = f"{self.folder.name}/guidefbo.db"
        with open(path, "wb") as file:
            file.write(empty_store())
        self.world = World(path, create=False)
        self.sites = {name: Site(name) for name in NAMES}
        self.is_member = dict.fromkeys(NAMES, False)
        self.was_revoked = dict.fromkeys(NAMES, False)
        self.newest = {}
        self.sequences = dict.fromkeys(NAMES, 0)
        self.last = {}
        self.round = 0

    def teardown(self):
        if hasattr(self, "world"):
            self.world.close()
            self.folder.cleanup()

    @rule(name=names)
    def join(self, name):
        code = host.invite(self.world.store, "reaction", name).code
        site = self.sites[name]
        site.key = SigningKey.make()
        letter = site.join(code)
        said = self.world.ok(letter)
        assert said["last_number"] >= 1
        site.number = max(site.number, said["last_number"])
        self.round += name in self.newest
        self.newest.pop(name, None)
        self.sequences[name] = 0
        self.is_member[name], self.was_revoked[name] = True, False
        self.last[name] = (letter, said)

    @rule(name=names, more=st.integers(0, 2), center=st.integers(0, 2))
    def exchange(self, name, more, center):
        site, sequence = self.sites[name], self.sequences[name] + more
        upload = make_upload(name, sequence, center=(0.1 * center, 0.5))
        letter = site.exchange(upload=upload)
        if not self.is_member[name]:
            code = self.world.refused(letter)
            assert code in ("not_a_site", "revoked", "bad_signature")
            return
        said = self.world.ok(letter)
        self.round += self.newest.get(name) != upload.encode()
        self.newest[name] = upload.encode()
        self.sequences[name] = sequence
        assert said["accepted"] == sequence
        assert said["num_uploads"] == len(self.newest)
        assert (said["packet"] is None) == (len(self.newest) < 2)
        self.last[name] = (letter, said)

    @rule(name=names)
    def repeat(self, name):
        """The last letter once more: the same answer, and nothing else."""
        if name in self.last and not self.was_revoked[name]:
            letter, said = self.last[name]
            assert self.world.ok(letter) == said

    @rule(name=names, back=st.integers(0, 3))
    def replay(self, name, back):
        """An old number with something new in it."""
        site = self.sites[name]
        if not self.is_member[name]:
            return
        number = site.number
        site.number = max(number - 1 - back, 0)
        letter = site.exchange(10**6)
        site.number = number
        assert self.world.refused(letter) == "replayed"

    @rule(name=names, stranger=names)
    def forge(self, name, stranger):
        """A letter in another's name."""
        site = Site(name, key=SigningKey.make(), number=10**6)
        if stranger != name:
            site.key = self.sites[stranger].key
        code = self.world.refused(site.exchange(1))
        assert code in ("bad_signature", "not_a_site")

    @rule(name=names, forget=st.booleans())
    def leave(self, name, forget):
        if not self.is_member[name]:
            return
        letter = self.sites[name].letter("leave", forget=forget)
        said = self.world.ok(letter)
        self.round += name in self.newest
        self.newest.pop(name, None)
        self.is_member[name] = False
        self.last[name] = (letter, said)

    @rule(name=names)
    def rotate(self, name):
        if not self.is_member[name]:
            return
        new = SigningKey.make()
        letter = self.sites[name].letter("rotate", public_key=new.public)
        self.last[name] = (letter, self.world.ok(letter))
        self.sites[name].key = new

    @rule(name=names, forget=st.booleans())
    def revoke(self, name, forget):
        if not self.is_member[name]:
            return
        host.revoke(self.world.store, "reaction", name, forget=forget)
        self.round += name in self.newest
        self.newest.pop(name, None)
        self.is_member[name], self.was_revoked[name] = False, True

    @rule()
    def restart(self):
        self.world.restart()

    @invariant()
    def store_is_as_the_model(self):
        if not hasattr(self, "world"):
            return
        with self.world.store.reading() as connection:
            found = newest_uploads(connection, "reaction")
        assert {name: data for name, (data, _) in found.items()} == self.newest
        seen = host.overview(self.world.store, "reaction")
        assert seen.federation.round == self.round


@pytest.mark.parametrize(
    "num_sequences", [8, pytest.param(NUM_SEQUENCES, marks=pytest.mark.slow)]
)
def test_any_sequence(num_sequences, record_property):
    record_property("sequences of 25 steps", num_sequences)
    run_state_machine_as_test(
        Sequences,
        settings=settings(
            max_examples=num_sequences,
            stateful_step_count=25,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.fixture(scope="module")
def busy(tmp_path_factory):
    world = World(str(tmp_path_factory.mktemp("busy") / "guidefbo.db"))
    world.sites = world.joined(*NAMES)
    yield world
    world.close()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=10), inner, max_size=4)
    ),
    max_leaves=8,
)
_numbers = itertools.count(1000)


def check_refused(world, data):
    got = world.desk.answer(data, limit=65536)
    assert 400 <= got.status < 500, got
    assert set(json.loads(got.body)) == {"error", "message"}


@settings(max_examples=150)
@given(data=st.binary(max_size=300))
def test_any_bytes_are_refused(busy, data):
    check_refused(busy, data)


@settings(max_examples=150)
@given(data=st.data())
def test_any_change_of_a_letter_is_refused(busy, data):
    site = busy.sites[0]
    site.number = next(_numbers)
    letter = bytearray(site.exchange(1))
    place = data.draw(st.integers(0, len(letter) - 1))
    new = data.draw(st.integers(0, 255))
    if letter[place] == new:
        return
    letter[place] = new
    check_refused(busy, bytes(letter))


@settings(max_examples=60)
@given(
    purpose=st.sampled_from(["exchange", "leave", "rotate", "join"]),
    name=st.sampled_from(["upload", "held", "forget", "public_key", "code", "space"]),
    value=json_values,
)
def test_any_value_in_a_signed_letter_is_answered(busy, purpose, name, value):
    """Whoever has a key may write anything: never an error of the coordinator's."""
    from guidefbo.core.errors import WireError

    site = busy.sites[1]
    site.number = next(_numbers)
    usual = {
        "exchange": {"upload": None, "held": None},
        "leave": {"forget": "no"},
        "rotate": {"public_key": "?"},
        "join": {"code": "?", "public_key": site.key.public, "space": None},
    }
    try:
        letter = site.letter(purpose, **{**usual[purpose], name: value})
    except WireError:
        return
    got = busy.desk.answer(letter, limit=65536)
    assert got.status < 500
