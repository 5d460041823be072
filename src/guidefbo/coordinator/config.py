"""Configuration of the service: from options, environment or a TOML file.

An option wins over the environment, the environment over the file, the file over the
default.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from ipaddress import ip_address
from math import inf
from pathlib import Path
from typing import Any

from guidefbo.core.checks import is_finite_number, is_whole_number, shown
from guidefbo.core.errors import SettingsError, refuse_unknown
from guidefbo.core.files import InputError
from guidefbo.core.toml import TomlError, read_toml

PREFIX = "GUIDEFBO_"
DEFAULT = "guidefbo.db"
"""The store, where nothing else is said: in the current folder."""
LEVELS = ("debug", "info", "warning", "error")
DAY = 86_400.0
LIMITS = {
    "port": (0, 65_535),
    "every": (0.05, DAY),
    "timeout": (0.1, DAY),
    "max_connections": (1, 100_000),
}
"""The least and the most of a number; of all others, 0 and no end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """How a coordinator runs."""

    store: str = DEFAULT
    """File or URL of the store."""
    host: str = "127.0.0.1"
    """Address to listen at."""
    port: int = 8443
    """Port to listen at, up to 65535; 0: a free one."""
    tls_cert: str | None = None
    """Certificate chain, PEM."""
    tls_key: str | None = None
    """Its private key, PEM."""
    insecure: bool = False
    """Whether plain HTTP may be offered to other machines."""
    proxy: str | None = None
    """Address of a proxy whose X-Forwarded-For is believed."""
    folder: str | None = None
    """A shared folder that is served as well."""
    every: float = 5.0
    """Seconds between two looks into the folder, 0.05 or more."""
    rate_site: float = 10.0
    """Letters a second of one site; 0: no limit."""
    rate_address: float = 100.0
    """Requests a second from one address; 0: no limit."""
    timeout: float = 10.0
    """Seconds within which a request must have arrived, 0.1 or more."""
    max_connections: int = 1000
    """Connections at the same time, 1 or more."""
    connections_address: int = 100
    """Connections at the same time from one address; 0: no limit."""
    log_level: str = "info"
    """Least level that is logged."""

    def __post_init__(self) -> None:
        for field in fields(self):
            _check(field.name, getattr(self, field.name), field.default)
        if (self.tls_cert is None) != (self.tls_key is None):
            raise SettingsError("TLS needs both: --tls-cert and --tls-key.")
        if self.log_level not in LEVELS:
            refuse_unknown("level of the log", self.log_level, LEVELS)
        if self.tls_cert is None and not self.insecure and not is_loopback(self.host):
            raise SettingsError(
                f"Plain HTTP is offered to this machine alone, and {self.host} is "
                "reached by others. Give --tls-cert and --tls-key, or put a proxy with "
                "TLS in front and listen at 127.0.0.1. --insecure does it all the same."
            )


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine alone.

    >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0"), is_loopback("localhost")
    (True, False, True)
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def make_config(
    given: Mapping[str, Any],
    *,
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Config:
    """Return the configuration.

    Args:
        given: What the command's options say; None where an option was not given.
        file: A TOML file.
        environment: GUIDEFBO_STORE and the like; the process's own if not given.
    """
    known = {f.name: f.default for f in fields(Config)}
    chosen: dict[str, Any] = {}
    for name, value in (_read(file) if file else {}).items():
        if name.replace("-", "_") not in known:
            refuse_unknown(f"entry of {file}", name, known)
        chosen[name.replace("-", "_")] = value
    for name, text in (os.environ if environment is None else environment).items():
        key = name.removeprefix(PREFIX).lower()
        if name.startswith(PREFIX) and key in known:
            chosen[key] = _from_text(name, text, known[key])
    chosen |= {name: value for name, value in given.items() if value is not None}
    return Config(**chosen)


def store_address(given: str | None) -> str:
    """Return the store of a host command: the option, the environment, the default."""
    return given or os.environ.get(f"{PREFIX}STORE") or DEFAULT


def _read(file: Path) -> dict[str, Any]:
    try:
        return read_toml(file)
    except (InputError, TomlError) as error:
        raise SettingsError(f"Cannot read {file}: {error}.") from error


def _from_text(name: str, text: str, default: Any) -> Any:
    if isinstance(default, bool):
        truths = {"1": True, "true": True, "yes": True, "0": False, "false": False}
        truths |= {"no": False, "": False}
        if text.lower() not in truths:
            raise SettingsError(f"{name} must be true or false, got {shown(text)}.")
        return truths[text.lower()]
    if isinstance(default, int | float):
        try:
            return type(default)(text)
        except ValueError as error:
            raise SettingsError(
                f"{name} must be a number, got {shown(text)}."
            ) from error
    return text or None if default is None else text


def _check(name: str, value: Any, default: Any) -> None:
    option = f"--{name.replace('_', '-')}"
    if isinstance(default, bool):
        is_valid, what = isinstance(value, bool), "true or false"
    elif isinstance(default, int | float):
        is_whole = isinstance(default, int)
        is_valid = is_whole_number(value) if is_whole else is_finite_number(value)
        low, high = LIMITS.get(name, (0, inf))
        is_valid = is_valid and low <= value <= high
        what = "a whole number" if is_whole else "a number"
        what += f" of at least {low}" if high == inf else f" from {low} to {high:g}"
    else:
        is_valid = isinstance(value, str) or (value is None and default is None)
        what = "a text"
    if not is_valid:
        raise SettingsError(f"{option} must be {what}, got {shown(value)}.")
