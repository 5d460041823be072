"""FTS's server: hand every agent the weights of one other agent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from guidefbo.core.domain import Domain
from guidefbo.server.side import Draws
from guidefbo.wire.fts import MANY_FEATURES, FeatureWeights

Sources = Callable[[Sequence[str], Draws], dict[str, str]]
"""(sites, draws) -> whose message each site gets."""


def any_other(sites: Sequence[str], draws: Draws) -> dict[str, str]:
    """Draw a source uniformly among the other sites; one alone gets its own."""
    if len(sites) == 1:
        return {sites[0]: sites[0]}
    drawn = [int(draws.of(site).integers(len(sites) - 1)) for site in sites]
    others = [m + (m >= n) for n, m in enumerate(drawn)]  # E48
    return {site: sites[m] for site, m in zip(sites, others, strict=True)}


@dataclass(frozen=True, slots=True, kw_only=True)
class FtsServer:
    """Relays the weights of one agent to another."""

    upload_type: ClassVar[type[FeatureWeights]] = FeatureWeights
    packet_type: ClassVar[type[FeatureWeights]] = FeatureWeights
    needs_shared_seed: ClassVar[bool] = True
    """All sites draw the same features or probes, so that they need one seed."""

    sources: Sources = any_other
    """Whose weights an agent gets."""

    def form(self, upload: FeatureWeights) -> tuple[str, int]:
        """Return the number of features."""
        return "number of features", upload.num_features

    def max_numbers(self, domain: Domain) -> int:
        """Return the most weights, one a feature; agents choose how many."""
        del domain
        return MANY_FEATURES

    def check(self, upload: FeatureWeights, domain: Domain) -> None:
        """Let every number of features pass: weights have no dimension."""
        del upload, domain

    def aggregate(
        self, uploads: Mapping[str, FeatureWeights], t: int, draws: Draws
    ) -> dict[str, FeatureWeights]:
        """Return a packet for every site that uploaded."""
        del t
        chosen = self.sources(sorted(uploads), draws)
        return {site: uploads[source] for site, source in chosen.items()}
