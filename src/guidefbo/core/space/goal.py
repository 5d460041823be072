"""Maximise or minimise.

Values are negated on entry for `min`, so all other code maximises.
"""

from types import MappingProxyType
from typing import Any

from guidefbo.core.checks import shown
from guidefbo.core.errors import SettingsError

SIGNS = MappingProxyType({"max": 1.0, "min": -1.0})
"""What a value is multiplied by so that higher is better."""


def require_goal(goal: Any) -> str:
    """Return "max" or "min", or refuse what arrived: no default is safe."""
    if not isinstance(goal, str) or goal not in SIGNS:
        raise SettingsError(f"goal must be 'max' or 'min', got {shown(goal)}.")
    return goal
