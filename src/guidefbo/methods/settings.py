"""Every number and part a user may change, with the values of the paper."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from guidefbo.agent.catalog import AIMS, BELIEFS, INTERVENTIONS, SAMPLERS, SCHEDULES
from guidefbo.core.checks import is_finite_number, shown
from guidefbo.core.errors import SettingsError, refuse_unknown
from guidefbo.server.catalog import DISPATCHES, FUSIONS, MERGINGS, REWEIGHTINGS


def _count(default: int, text: str, low: int = 1) -> Any:
    return field(default=default, metadata={"text": text, "low": low, "high": 1e6})


def _real(default: float, text: str) -> Any:
    return field(default=default, metadata={"text": text, "low": 0.0, "high": 1e6})


def _part(default: str, text: str, names: Collection[str]) -> Any:
    return field(default=default, metadata={"text": text, "names": tuple(names)})


MODES = ("method", "as-run")
LIES = ("none", "corner", "drift", "respond", "hide")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of all methods; a method ignores what it has no use for."""

    beta: float = _real(4.0, "UCB: mean + sqrt(beta) std")
    num_fantasies: int = _count(20, "NEI: quasi-random fantasies")
    num_paths: int = _count(500, "GUIDE: posterior paths M")
    num_features: int = _count(500, "features of a path")
    num_candidates: int = _count(1000, "GUIDE: candidates of a path's maximum")
    max_components: int = _count(0, "GUIDE: truncation of the mixture, 0 = dim", low=0)
    lcb_coefficient: float = _real(1.0, "GUIDE: kappa of the value score")
    merge_threshold: float = _real(0.05, "GUIDE: RMS distance within a cluster")
    packet_size: int = _count(5, "GUIDE: components sent to an agent")
    max_strength: float = _real(1.0, "GUIDE: largest intervention lambda_max")
    num_raw: int = _count(100, "search: quasi-random points scored")
    num_starts: int = _count(20, "search: points climbed from")
    num_iterations: int = _count(25, "search: L-BFGS-B iterations")
    fit: str = _part("map", "hyperparameters", ("map", "likelihood"))
    schedule: str = _part("decaying", "GUIDE: strength over rounds", SCHEDULES)
    sampler: str = _part("features", "GUIDE: posterior paths", SAMPLERS)
    belief: str = _part("dpgmm", "GUIDE: optimum distribution", BELIEFS)
    covariance: str = _part("diagonal", "GUIDE: components", ("diagonal", "full"))
    mode: str = _part(
        "method", "the authors' own method, or as run for the paper's tables", MODES
    )
    num_shared: int = _count(500, "FTS, FTS-DE: features of the shared map")
    num_regions: int = _count(4, "FTS-DE: regions of the box, 1, 2 or 4")
    privacy: str = _part("none", "FTS-DE: differential privacy", ("none", "gaussian"))
    privacy_clip: float = _real(22.0, "FTS-DE: norm the weights are clipped to, S")
    privacy_rate: float = _real(0.35, "FTS-DE: share of agents that take part, q")
    privacy_noise: float = _real(1.0, "FTS-DE: noise multiplier z")
    ei_weight: float = _real(0.5, "FMTBO: weight of the global model's EI")
    similar_share: float = _real(0.8, "FMTBO: share of agents averaged over")
    num_probes: int = _count(0, "FMTBO: probe points that are ranked, 0 = 5 dim", low=0)
    share: str = _part("ard", "FMTBO: hyperparameters sent", ("ard", "iso2"))
    global_iterations: int = _count(5, "FMTBO: fit iterations of the global model")
    group_size: int = _count(4, "CGP: agents that exchange designs")
    max_models: int = _count(20, "CGP: constrained models averaged over")
    num_draws: int = _count(100_000, "CGP: posterior draws behind the constraint")
    merging: str = _part("complete-linkage", "GUIDE: server clusters", MERGINGS)
    reweighting: str = _part("value-aware", "GUIDE: global weights", REWEIGHTINGS)
    dispatch: str = _part("agent-specific", "GUIDE: who gets what", DISPATCHES)
    intervention: str = _part("local", "GUIDE: where uncertainty grows", INTERVENTIONS)
    place: str = _part(
        "trend", "consensus: model that places the optimum", ("trend", "process")
    )
    fusion: str = _part("trimmed", "consensus: one place of many", FUSIONS)
    min_spread: float = _real(0.15, "consensus: smallest std of the place aimed at")
    groups: str = _part("found", "consensus: groups of sites", ("found", "one"))
    aim: str = _part("blend", "consensus: whose place is aimed at", AIMS)
    consensus_schedule: str = _part(
        "constant", "consensus: strength over rounds", SCHEDULES
    )
    lie: str = _part("none", "simulation: what the last sites say", LIES)
    num_liars: int = _count(4, "simulation: how many they are, where they lie")

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Return the defaults with the given ones replaced, each checked."""
        known = {f.name: f for f in fields(cls)}
        checked: dict[str, Any] = {}
        for name, value in given.items():
            if name not in known:
                refuse_unknown("setting", name, known)
            default = known[name].default
            checked[name] = _check(name, value, default, known[name].metadata)
        return cls(**checked)


def describe_settings() -> list[tuple[str, str]]:
    """Return every setting with its default and meaning, for a listing."""
    rows: list[tuple[str, str]] = []
    for f in fields(Settings):
        names = f.metadata.get("names")
        choices = f" ({', '.join(names)})" if names else ""
        rows.append((f"{f.name}={f.default}", f.metadata["text"] + choices))
    return rows


def parse_settings(pairs: Collection[str]) -> dict[str, Any]:
    """Turn `key=value` texts into settings, numbers where they are numbers."""
    given: dict[str, Any] = {}
    for pair in pairs:
        name, separator, text = pair.partition("=")
        if not separator:
            raise SettingsError(
                f"A setting is written key=value, got {pair!r}. For example beta=4."
            )
        given[name.strip()] = _number_or_text(text.strip())
    Settings.of(given)
    return given


def _number_or_text(text: str) -> int | float | str:
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text


def _check(name: str, value: Any, default: Any, metadata: Mapping[str, Any]) -> Any:
    if isinstance(default, str):
        return _check_part(name, value, metadata["names"])
    low, high = metadata["low"], metadata["high"]
    is_valid = is_finite_number(value) and low <= value <= high
    expected = "a finite number"
    if isinstance(default, int):
        is_valid = is_valid and value == int(value)
        expected = "a whole number"
    if not is_valid:
        raise SettingsError(
            f"Setting {name} must be {expected} from {low:g} to {high:g}, got "
            f"{shown(value)}."
        )
    return type(default)(value)


def _check_part(name: str, value: Any, names: tuple[str, ...]) -> str:
    if value not in names:
        raise SettingsError(
            f"Setting {name} must be one of {', '.join(names)}, got {shown(value)}."
        )
    return value
