"""Progress where there is no terminal: at once, and on through a long step."""

from threading import Event, active_count

import pytest

from guidefbo.cli.quiet import SECONDS, repeated


def test_it_is_said_at_once_and_again_while_a_step_lasts():
    said, thrice = [], Event()

    def say():
        said.append(len(said))
        if len(said) == 3:
            thrice.set()

    before = active_count()
    with repeated(say, seconds=0.01):
        assert said[0] == 0
        assert thrice.wait(30.0)
    last = len(said)
    assert active_count() == before
    assert not Event().wait(0.05)
    assert len(said) == last


def test_it_ends_with_an_error_and_is_silent_on_a_terminal():
    said, before = [], active_count()
    with pytest.raises(KeyboardInterrupt), repeated(lambda: said.append(1)):
        raise KeyboardInterrupt
    assert active_count() == before
    with repeated(lambda: said.append(2), is_quiet=True):
        pass
    assert said == [1]
    assert SECONDS == 10.0
