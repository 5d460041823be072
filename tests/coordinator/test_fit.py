"""Whether an upload fits the federation's space, and how long it may be."""

import json

import numpy as np
import pytest
from tests.coordinator.running import serving
from tests.coordinator.world import Site, World, checked

from guidefbo.coordinator import host
from guidefbo.coordinator.federation import MAX_BODY
from guidefbo.core.space.form import fingerprint, space_from_form
from guidefbo.methods.registry import find_strategy
from guidefbo.server.exchange import build_server
from guidefbo.server.registry import server_names
from guidefbo.server.side import PlacedSide
from guidefbo.site.agent import Agent
from guidefbo.wire.envelope import Envelope, Terms, UploadHead
from guidefbo.wire.guide import OptimumUpload

NUMBER = {"type": "float", "low": 0.0, "high": 1.0}
MIXED = {
    "parameters": {
        "dose": NUMBER,
        "days": {"type": "int", "low": 1, "high": 9},
        "drug": {"type": "choice", "options": ["a", "b", "c"]},
    }
}
OTHER = {
    "parameters": {
        "dose": NUMBER,
        "days": {"type": "int", "low": 1, "high": 9},
        "drug": {"type": "choice", "options": ["a", "b", "c", "d"]},
    }
}
LIGHT = {"num_raw": 8, "num_starts": 1, "num_iterations": 3, "num_paths": 20}


def test_every_strategy_knows_its_space():
    for name in server_names():
        assert isinstance(build_server(name, {}), PlacedSide), name


def upload_of(method, space):
    """Return what a real site hands over."""
    agent = Agent(
        space_from_form(space), goal="max", method=method, seed=1, initial=4,
        site="north", federation="reaction",
    )  # fmt: skip
    for _ in range(6):
        trial = agent.ask()
        agent.tell(trial, float(trial.values["dose"]))
    return agent.upload().to_bytes().decode()


@pytest.mark.parametrize(
    "method", ["guide-ucb", "consensus-ucb", "shape-ucb", "fmtbo", "fts"]
)
def test_uploads_of_another_space_are_refused_by_their_contents(tmp_path, method):
    """Also where the head names the right space: contents are looked at."""
    world = World(str(tmp_path / "guidefbo.db"), create=False)
    version = find_strategy(method.partition("-")[0]).version
    made = host.create(
        world.store,
        "reaction",
        MIXED,
        goal="max",
        method=method,
        strategy_version=version,
    )
    (north,) = world.joined("north")
    fits = upload_of(method, MIXED)
    assert len(fits) < made.max_upload
    assert world.ok(north.letter("exchange", upload=fits, held=None))["accepted"] == 6
    form = json.loads(upload_of(method, OTHER))
    form["space"] = fingerprint(space_from_form(MIXED))
    letter = north.letter("exchange", upload=json.dumps(form), held=None)
    if method == "fts":
        # Weights of shared features, which have no dimension.
        world.ok(letter)
    else:
        status, said = world.ask(letter)
        assert (status, said["error"]) == (422, "foreign")
        assert "same search space?" in said["message"]
    world.close()


def wide(dim):
    return {"parameters": {f"x{k}": NUMBER for k in range(dim)}}


def full_upload(dim, space):
    spread = np.full((dim, dim), 1.0 / 3.0e3)
    np.fill_diagonal(spread, 1.0 / 7.0)
    body = OptimumUpload(
        mass=1.0 / 3.0, center=np.full(dim, 1.0 / 3.0), variance=spread, value_score=0.1
    )
    terms = Terms(
        federation="reaction",
        space=fingerprint(space_from_form(space)),
        strategy="guide",
        strategy_version=find_strategy("guide").version,
    )
    head = UploadHead(terms=terms, site="north", sequence=1)
    return Envelope(head=head, body=body).to_bytes().decode()


def test_body_may_be_as_long_as_the_strategy_needs_and_no_longer(tmp_path):
    world = World(str(tmp_path / "guidefbo.db"), create=False)
    host.create(world.store, "small", wide(3), goal="max", method="guide-ucb")
    made = host.create(world.store, "reaction", wide(90), goal="max", method="guide")
    assert host.overview(world.store, "small").federation.max_body == MAX_BODY
    assert made.max_body > MAX_BODY
    (north,) = world.joined("north")
    key = world.public_key
    world.close()
    upload = full_upload(90, wide(90))
    with serving(world.address) as service:
        letter = north.letter("exchange", upload=upload, held=None)
        assert len(letter) > MAX_BODY
        got = service.post(letter, "exchange")
        assert got.status_code == 200, got.text
        assert checked(got.content, letter, key)["accepted"] == 1
        letter = north.letter("exchange", upload=upload + " " * 60_000, held=None)
        assert len(letter) < made.max_body
        assert service.post(letter, "exchange").json()["error"] == "too_large"
        letter = north.letter("exchange", upload="9" * made.max_body, held=None)
        got = service.post(letter, "exchange")
        assert (got.status_code, got.json()["error"]) == (413, "too_large")
        # Elsewhere the usual limit holds, also where nobody is.
        for name in ("small", "nowhere"):
            letter = Site("north", name).letter("exchange", upload=upload, held=None)
            assert service.post(letter, "exchange", name).status_code == 413
