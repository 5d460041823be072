"""Three sites in three network namespaces; packets are lost, and links go down.

GUIDEFBO_ROUNDS says how many rounds the campaign has; six unless it does.
"""

import os
import threading
import time

import pytest
from tests.connect.lossy import CannotMakeError, Network
from tests.connect.real import Host
from tests.connect.test_service import SITES, campaign, join_all

from guidefbo.connect.errors import OfflineError
from guidefbo.connect.link import connect

ROUNDS = int(os.environ.get("GUIDEFBO_ROUNDS", "6"))
LOSS = 0.1


@pytest.fixture
def network():
    """The coordinator's place, then one of each site."""
    try:
        made = Network(1 + len(SITES), loss=LOSS)
    except CannotMakeError as error:
        pytest.skip(f"network namespaces cannot be made here: {error}")
    yield made
    counts = made.close()
    # A tenth is lost, and what was sent to an end that was unplugged.
    assert counts["came"] > 50
    assert 0.03 < counts["lost"] / counts["came"] < 0.4


@pytest.mark.slow
def test_sites_behind_a_bad_network_ask_the_same(tmp_path, network):
    quiet, loud = Host(tmp_path / "quiet"), Host(tmp_path / "loud")
    with quiet.serving() as where:
        links = join_all(quiet, where, tmp_path / "q")
        expected = campaign(links, lambda link: link.sync(), rounds=ROUNDS)
    place_of = {site: k + 1 for k, site in enumerate(SITES)}
    seen = {"unplugged": 0, "interrupted": 0, "again": 0}

    def patiently(place, work):
        """Work in a place until it is done."""
        end = time.monotonic() + 300.0
        while True:
            try:
                done = network.inside(place, work)
            except OfflineError:
                done = None
            if done is not None and getattr(done, "is_online", True):
                return done
            seen["again"] += 1
            assert time.monotonic() < end, "It did not get through in time."

    def sync(link):
        place = place_of[link.facts.site]
        turn = sync.turn = sync.turn + 1
        if turn % 5 == 2:
            # This site is cut off: it goes on alone and says so.
            network.set_up(place, False)
            assert not network.inside(place, link.sync).is_online
            network.set_up(place, True)
            seen["unplugged"] += 1
        if turn % 5 == 4:
            # The coordinator is cut off while the letter or its answer is on the way.
            cut = threading.Timer(0.03 * (turn % 4), network.set_up, (0, False))
            mend = threading.Timer(1.0, network.set_up, (0, True))
            cut.start()
            mend.start()
            patiently(place, link.sync)
            cut.join()
            mend.join()
            seen["interrupted"] += 1
            return
        patiently(place, link.sync)

    sync.turn = 0
    options = ("--host", network.address(0), "--insecure")
    with loud.serving(*options, within=network.within(0)) as where:
        (tmp_path / "l").mkdir()
        links = {}
        for site, place in place_of.items():
            file, code = tmp_path / "l" / f"{site}.json", loud.invite(site)

            def join(file=file, code=code):
                return connect(file, where, code=code, insecure=True)

            links[site] = patiently(place, join)
        assert campaign(links, sync, rounds=ROUNDS) == expected
    assert seen["unplugged"] >= 2, seen
    assert seen["interrupted"] >= 2, seen
