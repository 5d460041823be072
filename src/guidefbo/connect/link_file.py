"""`site.link`: where a site's coordinator is, and by which key it is known."""

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

from guidefbo.connect.errors import LinkError
from guidefbo.connect.forms import read_form, write_form
from guidefbo.core.checks import shown
from guidefbo.core.errors import FedBOError
from guidefbo.core.names import require_name
from guidefbo.wire.envelope import MAX_UPLOADS
from guidefbo.wire.keys import require_public

FORMAT = "guidefbo-link"
ROLES = ("site", "listen-only", "speak-only")
"""What a site may do: exchange, only take packets, only hand uploads over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkFile:
    """The public facts of a link."""

    where: str
    """The coordinator: an address `https://host:8443`, or `folder:DIR`."""
    federation: str
    """Name of the federation."""
    site: str
    """Name of this site in it."""
    coordinator_key: str
    """The coordinator's public key; answers signed with another one are refused."""
    role: str = "site"
    """One of `ROLES`."""
    min_sites: int = 1
    """No packet is made of fewer uploads."""
    ca: str | None = None
    """File of the certificate authority that vouches for the address; None: the
    system's."""
    is_insecure: bool = False
    """Whether the address may be plain HTTP to another machine."""
    needs_confirmation: bool = False
    """Whether nothing leaves before somebody looked at it: `guidefbo audit
    --confirm`."""

    def __post_init__(self) -> None:
        try:
            require_name("federation", self.federation)
            require_name("site", self.site)
            require_public(self.coordinator_key, "coordinator_key")
        except FedBOError as error:
            raise LinkError(str(error)) from error
        if not isinstance(self.where, str) or not 0 < len(self.where) <= 4096:
            raise LinkError(f"where must be an address, got {shown(self.where)}.")
        if self.role not in ROLES:
            raise LinkError(
                f"role must be one of {', '.join(ROLES)}, got {shown(self.role)}."
            )
        if type(self.min_sites) is not int or not 1 <= self.min_sites <= MAX_UPLOADS:
            raise LinkError(
                f"min_sites must be a whole number from 1, got {shown(self.min_sites)}."
            )
        if self.ca is not None and not isinstance(self.ca, str):
            raise LinkError(f"ca must be a file's name, got {shown(self.ca)}.")
        for name in ("is_insecure", "needs_confirmation"):
            if not isinstance(getattr(self, name), bool):
                raise LinkError(f"{name} must be true or false.")

    @property
    def speaks(self) -> bool:
        """Whether this site hands uploads over."""
        return self.role != "listen-only"

    def save(self, path: Path) -> None:
        """Write the link, whole or not at all."""
        write_form(path, FORMAT, asdict(self))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Return the link in a file, every field checked."""
        if not path.exists():
            raise LinkError(
                f"There is no {path}: this site is in no federation. Join one: "
                "guidefbo join https://HOST:8443 --code CODE FILE"
            )
        form: dict[str, Any] = read_form(path, FORMAT, {f.name for f in fields(cls)})
        try:
            return cls(**form)
        except LinkError as error:
            raise LinkError(f"{path}: {error}") from error
