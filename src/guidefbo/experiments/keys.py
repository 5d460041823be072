"""Names of run records: what is run, and by what code.

    ackley-level2-guide-ucb-seed0-0123456789ab-89abcdef

The first digest is that of the run's spec, the second that of the code that computes
it. A record of former days has no second one, and neither has one of unknown code.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

Code = Mapping[str, str]
"""What computes a run: the version of each package and the sha256 of each file of
one's own, by name. Nothing where that is not known."""
UNKNOWN = "unknown code"
MAX_NAME = 40
"""Letters of a name that a key repeats."""
SHOWN_DIGITS = 12
"""Digits of a file's digest that people are shown."""

_KEY = re.compile(r"(?P<base>.*-[0-9a-f]{12})-[0-9a-f]{8}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_SIGNS = re.compile(r"[^0-9A-Za-z]+")


def run_key(spec: Mapping[str, Any], code: Code) -> str:
    """Return the name of a run's record: equal for equal runs of equal code."""
    return with_code(spec_key(spec), code)


def spec_key(spec: Mapping[str, Any]) -> str:
    """Return the part of a run's name that depends on the run alone."""
    measure = "run" if "method" in spec else "similarity"
    text = json.dumps([measure, spec], sort_keys=True, separators=(",", ":"))
    # A file's name has anything in it; the digest tells two of them apart.
    problem, what = _plain(spec.get("problem")), _plain(spec.get("method", measure))
    level = f"-level{spec['level']}" if "level" in spec else ""
    return f"{problem}{level}-{what}-seed{spec.get('seed')}-{_digest(text, 12)}"


def with_code(base: str, code: Code) -> str:
    """Return the key of a run by some code, from the part that is the run's alone."""
    return f"{base}-{_digest(json.dumps(_parts(code)), 8)}" if code else base


def is_same_code(one: Code, other: Code) -> bool:
    """Whether two codes are equal; a file may have been renamed."""
    return _parts(one) == _parts(other)


def holds_all(code: Code, parts: Code) -> bool:
    """Whether every part of some code stands in another, in the same version."""
    return set(_parts(parts)) <= set(_parts(code))


def base_of(key: str) -> str:
    """Return a key without its code.

    >>> base_of("sphere-level1-ucb-seed0-0123456789ab-89abcdef")
    'sphere-level1-ucb-seed0-0123456789ab'
    """
    found = _KEY.fullmatch(key)
    return found["base"] if found else key


def code_text(code: Code) -> str:
    """Return what people are told of some code.

    >>> code_text({"guidefbo": "0.1.0", "mine.py": "0123456789abcdef" * 4})
    'guidefbo 0.1.0, mine.py 0123456789ab'
    """
    told = (f"{name} {_short(version)}" for name, version in code.items())
    return ", ".join(told) or UNKNOWN


def _parts(code: Code) -> list[tuple[str, ...]]:
    """Return the parts of a code: files by what is in them, packages by name."""
    listed = code.items()
    return sorted((v,) if _DIGEST.fullmatch(v) else (k, v) for k, v in listed)


def _plain(name: Any) -> str:
    return _SIGNS.sub("-", str(name)).strip("-")[-MAX_NAME:]


def _short(version: str) -> str:
    return version[:SHOWN_DIGITS] if _DIGEST.fullmatch(version) else version


def _digest(text: str, length: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:length]
