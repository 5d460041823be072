"""The files of a link, which stand beside the agent's own."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where an agent, its link, its key and its mailbox are."""

    file: Path
    """The agent: observations. What talks to the network never opens it."""
    link: Path
    """Where the coordinator is and who it is; public facts."""
    key: Path
    """The site's private key."""
    mail: Path
    """The mailbox, a folder."""

    @classmethod
    def of(cls, file: str | Path) -> Self:
        """Return the places beside an agent's file.

        >>> Places.of("lab/site.json").mail.as_posix()
        'lab/site.mail'
        """
        path = Path(file)
        name = path.stem if path.suffix == ".json" else path.name
        return cls(
            file=path,
            link=path.with_name(f"{name}.link"),
            key=path.with_name(f"{name}.key"),
            mail=path.with_name(f"{name}.mail"),
        )

    @property
    def next_key(self) -> Path:
        """The key that takes the place of the other once the coordinator knows it."""
        return self.key.with_name(f"{self.key.name}.next")
