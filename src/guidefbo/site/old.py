"""Agents' files of version 1, brought to today's form.

They do not say the site's name or its federation, and the packet they hold does not say
whose it is. It is kept as it was: made for this agent, at the time it came.
"""

import json
from collections.abc import Mapping
from typing import Any, cast

from guidefbo.core.checks import is_whole_number, shown
from guidefbo.core.errors import DataError
from guidefbo.core.names import to_name
from guidefbo.site.setup import Setup
from guidefbo.wire.envelope import MAX_BYTES, VERSION

AS_RUN = {"fts": "fts-as-run", "fts-de": "fts-de-as-run", "fmtbo": "fmtbo-as-run"}
"""What a method with the setting mode=as-run is called now."""


def renew_setup(form: Mapping[str, Any], file: str) -> dict[str, Any]:
    """Return the setup in today's form.

    Args:
        form: The setup as it was written.
        file: Name of the agent's file, which names the site where it has no number.
    """
    settings = form.get("settings")
    if not isinstance(settings, dict):
        raise DataError(f"expected settings to be an object, got {shown(settings)}.")
    given = cast(dict[str, Any], settings)
    method = form.get("method")
    if given.get("mode") == "as-run" and isinstance(method, str):
        plain = method.removesuffix("-ts")
        method = AS_RUN.get(method, f"{method}-grid" if plain != method else method)
        method = "ts-grid" if method == "ts" else method
    known = Setup.settings_of(method)
    kept = {name: value for name, value in given.items() if name in known}
    has_number = form.get("num_agents") is not None
    site = None if has_number else to_name(file)
    fresh = {"site": site, "federation": "default"}
    return {**form, "method": method, "settings": kept, **fresh}


def renew_guidance(form: Mapping[str, Any], setup: Setup) -> dict[str, Any]:
    """Return the guidance in today's form."""
    state, packet, told = form["state"], form["packet"], form["received_at"]
    if not is_whole_number(told):
        raise DataError(f"expected received_at to be a number, got {shown(told)}.")
    is_refused = state == "refused"
    return {
        "state": "none" if is_refused else state,
        "reason": "no packet is held" if is_refused else form["reason"],
        "packet": None if packet is None else _renew_packet(packet, told, setup),
        "since": told,
        "refusal": str(form["reason"]) if is_refused else None,
    }


def _renew_packet(text: Any, told: int, setup: Setup) -> str:
    if not isinstance(text, str) or len(text) > MAX_BYTES:
        raise DataError("expected a packet to be a text of a message.")
    form = json.loads(text)
    if not isinstance(form, dict) or cast(dict[str, Any], form).get("version") != 1:
        raise DataError(f"expected a packet of version 1, got {shown(text)}.")
    terms = setup.terms
    return json.dumps(
        {
            **cast(dict[str, Any], form),
            "version": VERSION,
            "federation": terms.federation,
            "space": terms.space,
            "strategy": terms.strategy,
            "strategy_version": terms.strategy_version,
            "site": setup.site,
            "round": 0,
            "answers": told,
            "num_uploads": 0,
            "made_of": "unknown",
        },
        separators=(",", ":"),
    )
