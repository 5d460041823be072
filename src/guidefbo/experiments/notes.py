"""What reports need to know of the methods of a study, read off their records."""

from collections.abc import Iterable

from guidefbo.experiments.study_json import MethodNote, Row
from guidefbo.methods.record import Method, Strategy
from guidefbo.methods.registry import find_method


def notes_on(rows: Iterable[Row]) -> dict[str, MethodNote]:
    """Return a note on every method of the rows."""
    names = dict.fromkeys(row.spec["method"] for row in rows if "method" in row.spec)
    return {name: note_on(name) for name in names}


def note_on(name: str) -> MethodNote:
    """Return a note on one method."""
    method = find_method(name)
    s = method.strategy
    return MethodNote(
        strategy=s.name,
        rule=method.rule.name,
        is_plain=s.is_plain,
        is_control=s.is_control,
        is_ceiling=s.is_ceiling,
        is_silent=_is_silent(s),
        alone=dict(s.alone),
        settings={k: setting.default for k, setting in method.run_settings.items()},
        paper=_paper_name(method),
        paper_strategy=s.paper_column,
        colour=s.colour,
        dash="solid" if len(s.rules) == 1 else method.rule.dash,
    )


def _is_silent(s: Strategy) -> bool:
    """Whether nothing is exchanged, and it is neither plain, a control nor a rival."""
    is_other = s.is_plain or s.is_control or s.solver is not None
    return s.server is None and not is_other


def _paper_name(method: Method) -> str | None:
    """Return the name that the paper's tables have for a method, None for none."""
    s = method.strategy
    if s.paper_column is None:
        return None
    return method.name.replace(s.name, s.paper_column, 1).removesuffix("-grid")
