"""Packets of a federation: a pure function of the newest upload of every site."""

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from statistics import median_low

from guidefbo.coordinator.federation import Federation
from guidefbo.core.threads import single_blas_thread
from guidefbo.server.exchange import exchange
from guidefbo.server.side import ListeningSide

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Packets:
    """What one state of the uploads gives."""

    num_uploads: int
    """How many uploads there are, those that do not fit left out."""
    by_site: Mapping[str, bytes]
    """Packets of the sites that were asked for."""
    reasons: Mapping[str, str]
    """Why a site has none."""


def make_packets(
    federation: Federation,
    newest: Mapping[str, tuple[bytes, int]],
    receivers: Collection[str],
) -> Packets:
    """Return the packets of some sites.

    The number of a packet is the federation's counter of changes. The round that the
    strategy is told is how far the campaign has come: how many uploads with new
    results the median site has sent.

    Args:
        federation: Whose they are.
        newest: By site, its newest upload and how many it has sent.
        receivers: Sites whose packets are wanted.
    """
    if not receivers:
        return Packets(num_uploads=len(newest), by_site={}, reasons={})
    if len(newest) < federation.min_sites:
        return _too_few(federation, len(newest), receivers)
    server = federation.server
    listeners = [site for site in receivers if site not in newest]
    reasons: dict[str, str] = {}
    if listeners and not isinstance(server, ListeningSide):
        reasons = dict.fromkeys(
            listeners, "a packet answers an upload, and this site has sent none yet"
        )
        listeners = []
    try:
        with single_blas_thread():
            outcome = exchange(
                server,
                {site: data for site, (data, _) in newest.items()},
                t=max(median_low(count for _, count in newest.values()), 1),
                seed=federation.secret_seed,
                terms=federation.terms,
                number=federation.round,
                receivers=set(receivers),
                listeners=listeners,
            )
    except Exception:
        # Whatever a strategy does with numbers it was never tried on: uploads are
        # stored all the same, and sites go on alone.
        log.exception("packets failed", extra={"federation": federation.name})
        why = "the packets could not be made; the host finds the reason in the log"
        return Packets(
            num_uploads=len(newest),
            by_site={},
            reasons=dict.fromkeys(receivers, why),
        )
    num_uploads = len(newest) - len(outcome.left_out)
    if num_uploads < federation.min_sites:
        return _too_few(federation, num_uploads, receivers)
    reasons |= {site: f"left out: {why}" for site, why in outcome.left_out.items()}
    return Packets(num_uploads=num_uploads, by_site=outcome.packets, reasons=reasons)


def _too_few(
    federation: Federation, num_uploads: int, receivers: Collection[str]
) -> Packets:
    why = (
        f"it would be made of {num_uploads} uploads; {federation.min_sites} are needed"
    )
    return Packets(
        num_uploads=num_uploads, by_site={}, reasons=dict.fromkeys(receivers, why)
    )
