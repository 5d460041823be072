"""The box on what gains on centred problems mean where nothing was controlled for."""

from collections.abc import Iterable

from guidefbo.reports.conditions import Conditions
from guidefbo.reports.families import is_federated
from guidefbo.reports.formats import join
from guidefbo.reports.frame import Frame, View
from guidefbo.reports.table import Box

CENTRED = (
    "ackley",
    "griewank",
    "rastrigin",
    "weierstrass",
    "ellipsoid",
    "sphere",
    "zakharov",
    "powell",
)
"""Functions whose optimum is the middle of the box unless it is shifted."""


def caution(frame: Frame, beside: Iterable[Frame]) -> Box | None:
    """Return the box, None where a control or an off-centre run stands beside.

    Args:
        frame: The study's runs.
        beside: The frames of all studies of the report.
    """
    centred = [v for v in frame.views if _is_centred(v.conditions) and _compares(v)]
    if not centred or any(_is_guarded(other) for other in beside):
        return None
    named = [p for p in frame.problems if p in CENTRED]
    where = f" At Level 1 the optimum is the middle of the box on {join(named)}."
    return Box(
        title="What the gains of this study do not show",
        texts=(
            "No control ran here and nothing was moved off the centre."
            f"{where if named else ''} The components that agents exchange lie near "
            "the middle too, since in many dimensions sampled optima spread over the "
            "whole box. A component in the middle that nobody sent does the same: on "
            "Sphere at Level 1, in single runs with the paper's noise, ucb ended at "
            "13.3, guide-ucb at 1.3, and placebo-ucb, which has such a component and "
            "exchanges nothing, at 0.15. With the optimum moved off the centre the "
            "three ended at 6.8, 4.1 and 4.3.",
            "So a gain over the plain rule in this study may be knowledge of where the "
            "middle is. It must not be read as transfer between agents: only what "
            "beats the control off the centre is. To find out: guidefbo study run "
            "offcentre.",
        ),
    )


def _is_centred(conditions: Conditions) -> bool:
    return not conditions.is_task and conditions.common_shift in (None, 0.0)


def _compares(view: View) -> bool:
    """Whether a federated method ran beside another contender."""
    cells = [(p, who) for p in view.problems for who in view.contenders]
    ran = {who for p, who in cells if view.outcomes(p, who)}
    return len(ran) > 1 and any(map(is_federated, ran))


def _is_guarded(frame: Frame) -> bool:
    """Whether a control, or anything off the centre, ran."""
    return any(
        (who.note is not None and who.note.is_control)
        or not (_is_centred(conditions) or conditions.is_task)
        for (conditions, _, who), samples in frame.cells.items()
        if any(o is not None and o.curve is not None for o in samples.values())
    )
