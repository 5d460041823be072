"""How a letter reaches a coordinator: by HTTP or through a shared folder."""

from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from guidefbo.core.checks import shown
from guidefbo.core.errors import SettingsError
from guidefbo.wire.letter import Letter, read_letter

FOLDER = "folder:"
"""Beginning of the name of a coordinator that is reached through a folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """A sealed letter to be delivered."""

    data: bytes
    """The letter as it travels."""
    letter: Letter
    """What it says."""

    @classmethod
    def of(cls, data: bytes) -> "Post":
        """Return the post of a sealed letter."""
        return cls(data=data, letter=read_letter(data))


class Transport(Protocol):
    """A way to a coordinator."""

    def deliver(self, post: Post) -> bytes | None:
        """Return the answer, None where it has not come yet.

        Raises `OfflineError` where nobody is reached and `RefusedError` where the
        coordinator says no. Delivering the same letter again is welcome.
        """
        ...

    def withdraw(self, post: Post) -> None:
        """Take a letter back that nobody has read, where that can be done."""
        ...

    def finish(self, post: Post) -> None:
        """Tidy up after an answer, whether it was good or not."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How to find a coordinator."""

    where: str
    """`https://host:8443` or `folder:DIR`."""
    ca: Path | None = None
    """The certificate authority that vouches for the address."""
    is_insecure: bool = False
    """Whether plain HTTP to another machine is allowed."""
    patience: float = 0.0
    """Seconds to wait for an answer in a folder."""

    def open(self) -> Transport:
        """Return the transport; what it needs is loaded now."""
        if self.where.startswith(FOLDER):
            from guidefbo.connect.shared_folder import FolderTransport

            folder = Path(self.where.removeprefix(FOLDER))
            return FolderTransport(folder=folder, patience=self.patience)
        from guidefbo.connect.http import HttpTransport

        return HttpTransport(address=self.where, ca=self.ca)


def check_where(where: str, *, is_insecure: bool = False) -> str:
    """Return the name of a coordinator as it is kept, or refuse it.

    Args:
        where: `https://host:8443`, or `folder:DIR`.
        is_insecure: Whether plain HTTP to another machine is allowed.
    """
    # Path("") would be the current folder.
    if where.startswith(FOLDER) and where != FOLDER:
        folder = Path(where.removeprefix(FOLDER)).expanduser()
        if not folder.is_dir():
            raise SettingsError(
                f"There is no folder {folder}. Is the share mounted? Who hosts the "
                f"federation makes it: guidefbo serve --folder {folder}"
            )
        return f"{FOLDER}{folder.resolve()}"
    parts = urlsplit(where)
    try:
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        is_whole = False
    if not is_whole or parts.query or parts.fragment or parts.username:
        raise SettingsError(
            "Expected the coordinator's address such as https://host:8443, or "
            f"folder:/mnt/share/reaction, got {shown(where)}."
        )
    if parts.scheme == "http" and not is_loopback(where) and not is_insecure:
        raise SettingsError(
            f"{where} is plain HTTP to another machine: everybody on the way could "
            "read the code and the messages. Use https://, or say --insecure if a "
            "tunnel protects it."
        )
    return where.rstrip("/")


def is_loopback(where: str) -> bool:
    """Whether an address is this machine's own."""
    host = urlsplit(where).hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
