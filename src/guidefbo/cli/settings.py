"""`guidefbo methods --settings`: every setting, and who reads it."""

from guidefbo.agent.decision.search import SearchSettings
from guidefbo.agent.surrogate.model import ModelSettings
from guidefbo.core.settings import Setting, settings_of
from guidefbo.methods.registry import all_methods


def describe_settings() -> list[tuple[str, str]]:
    """Return every setting with its default, its meaning and who reads it."""
    readers: dict[Setting, list[str]] = {}
    for whose, kinds in _owners().items():
        for setting in settings_of(*kinds).values():
            readers.setdefault(setting, []).append(whose)
    return [(f"{s.name}={s.default}", _text(s, who)) for s, who in readers.items()]


def _owners() -> dict[str, list[type]]:
    """Return the settings types of the model, of every rule and of every strategy."""
    owners: dict[str, list[type]] = {"all methods": [ModelSettings, SearchSettings]}
    for method in all_methods():
        s = method.strategy
        owners[f"rule {method.rule.name}"] = [method.rule.settings]
        server = [] if s.server is None else [s.server]
        owners[s.name] = [s.agent, *server, *s.simulated]
    return owners


def _text(setting: Setting, readers: list[str]) -> str:
    choices = f" ({', '.join(setting.names)})" if setting.names else ""
    return f"{setting.text}{choices}; {', '.join(readers)}"
