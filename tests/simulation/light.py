"""Settings for cheap runs, cut to what a method has."""

from guidefbo.methods.registry import find_method


def known_to(method, given):
    """Return those of some settings that a method has."""
    known = find_method(method).run_settings
    return {name: value for name, value in given.items() if name in known}
