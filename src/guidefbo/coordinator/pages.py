"""What a reader sees of a federation: as JSON, and as a page."""

from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from guidefbo.coordinator.host import Overview


def describe_sites(overview: Overview) -> dict[str, Any]:
    """Return a federation's sites as JSON values."""
    return {
        "federation": overview.federation.name,
        "round": overview.federation.round,
        "num_uploads": overview.num_uploads,
        "sites": [
            {
                "name": member.name,
                "state": member.state,
                "role": member.role,
                "sequence": member.sequence,
                "num_uploads": member.num_uploads,
                "seen": datetime.fromtimestamp(member.seen, UTC).isoformat(
                    timespec="seconds"
                ),
            }
            for member in overview.members
        ],
    }


def status_page(overview: Overview) -> str:
    """Return the page of a federation."""
    return (
        _environment()
        .get_template("status.html")
        .render(
            federation=overview.federation,
            num_joined=overview.num_joined,
            num_uploads=overview.num_uploads,
            sites=describe_sites(overview)["sites"],
        )
    )


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
    )
