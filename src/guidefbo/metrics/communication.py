"""Traffic of a run, counted from the messages that were really encoded."""

from dataclasses import dataclass, field

from guidefbo.wire.cost import Cost


@dataclass(slots=True)
class Traffic:
    """Running totals of what agents sent and received."""

    up: Cost = field(default_factory=Cost)
    """From agents to the server."""
    down: Cost = field(default_factory=Cost)
    """From the server to agents."""

    def count_up(self, data: bytes) -> None:
        """Count one encoded upload."""
        self.up = self.up + Cost.of(data)

    def count_down(self, data: bytes) -> None:
        """Count one encoded packet."""
        self.down = self.down + Cost.of(data)

    def scalars_per_agent_round(self, exchanges: int) -> dict[str, float]:
        """Return mean scalars per agent and round."""
        return _per_exchange(self.up.scalars, self.down.scalars, exchanges)

    def bytes_per_agent_round(self, exchanges: int) -> dict[str, float]:
        """Return mean bytes per agent and round."""
        return _per_exchange(self.up.num_bytes, self.down.num_bytes, exchanges)


def _per_exchange(up: int, down: int, exchanges: int) -> dict[str, float]:
    return {
        "up_per_agent_round": _mean(up, exchanges),
        "down_per_agent_round": _mean(down, exchanges),
    }


def _mean(total: int, count: int) -> float:
    if count == 0 or total % count == 0:
        return total // max(count, 1)
    return total / count
