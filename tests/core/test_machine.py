"""What is told of a machine: what decides speed and rounding, and no name of it."""

import os
import platform

import pytest

from guidefbo.core import machine as module
from guidefbo.core.machine import MAX_LENGTH, machine


@pytest.fixture
def told(monkeypatch, tmp_path):
    """Return what is told where the system says this of its processors."""

    def of(text):
        path = tmp_path / "cpuinfo"
        if text is not None:
            path.write_bytes(text)
        monkeypatch.setattr(module, "LINUX_PROCESSORS", path)
        machine.cache_clear()
        return machine()

    yield of
    machine.cache_clear()


def test_processor_family_number_and_kernel_are_told(told):
    text = told(b"processor\t: 0\nmodel name\t:  Some  Chip 7 \nmodel name\t: Other\n")
    model, family, count, kernels = text.split(", ", 3)
    assert model == "Some Chip 7"
    assert family == platform.machine()
    assert count == f"{os.cpu_count()} processors"
    assert kernels


def test_a_system_that_says_nothing_of_its_processors_is_no_error(told, monkeypatch):
    monkeypatch.setattr(platform, "processor", lambda: "")
    assert told(None).startswith(f"{platform.machine()}, ")


def test_what_is_no_text_and_too_long_is_cut(told):
    model, *_ = told(b"model name\t: \xff" + b"x" * 500).split(", ")
    assert len(model) == MAX_LENGTH


def test_the_name_of_the_machine_is_not_told(told, monkeypatch):
    monkeypatch.setattr(platform, "node", lambda: "secret-host")
    assert "secret-host" not in told(b"model name\t: Chip\n")
