"""A frank sentence on a task, written from its numbers.

It answers three questions: does federation help, is the difference larger than the
noise, and would a site have been better off with another tool?
"""

from guidefbo.reports.contenders import Contender
from guidefbo.reports.families import is_federated
from guidefbo.reports.formats import gain_text, join, number
from guidefbo.reports.tasks import Gain, Task


def verdict(task: Task) -> str:
    """Return the judgement on a task."""
    if task.mixed:
        return (
            f"{task.name}: not judged. Its runs were made by different versions of "
            f"{join(task.mixed)}, and what differs may be the task itself. Make them "
            "again: guidefbo study run ... --redo"
        )
    return f"{task.name}: {_federation(task)} {_rivals(task)}"


def _federation(task: Task) -> str:
    gains = task.over_plain
    if not gains:
        return (
            "whether federation helps is not known: no federated method ran beside its "
            "own lone rule."
        )
    better = {w: g for w, g in gains.items() if g.is_told and g.difference.mean > 0.0}
    worse = {w: g for w, g in gains.items() if g.is_told and g.difference.mean < 0.0}
    if not better and not worse:
        return _undecided(task)
    parts: list[str] = []
    if better:
        parts.append(f"federation helps: {_listed(task, better, 'ahead of')}")
    if worse:
        told = "it hurts too" if better else "federation hurts"
        parts.append(f"{told}: {_listed(task, worse, 'behind')}")
    text = f"{'; '.join(parts)}, more than the noise over {_pairs(task)}."
    rest = len(gains) - len(better) - len(worse)
    if rest:
        text += (
            f" {rest} of {len(gains)} federated methods "
            f"{'are' if rest > 1 else 'is'} not told apart from the lone rule."
        )
    return text


def _undecided(task: Task) -> str:
    """Return the sentence where no gain over a lone rule is told apart from zero."""
    gains = task.over_plain
    best = max(gains, key=lambda who: gains[who].difference.mean)
    text = (
        "no gain of federation is larger than the noise: no federated method is told "
        f"apart from its own lone rule over {_pairs(task)}"
    )
    if gains[best].difference.mean <= 0.0:
        return f"{text}, and none is even ahead of it."
    largest = {best: gains[best]}
    return f"{text}. The largest gain: {_listed(task, largest, 'ahead of')}."


def _rivals(task: Task) -> str:
    best, rival = task.best, task.rival
    if rival is None:
        return "No other tool ran, so nothing is said of what one would have brought."
    if best is None or best not in task.over_rival:
        return f"Of ours nobody has all seeds to be held against {rival.label}."
    gain = task.over_rival[best]
    ours = f"{best.label}, the best of ours"
    ours += "" if is_federated(best) else " and one that works alone"
    is_ahead = gain.difference.mean > 0.0
    held = f"is {'ahead of' if is_ahead else 'behind'} {rival.label}"
    numbers = _numbers(task, gain)
    if not gain.is_told:
        return (
            "Whether a site would have been better off with another tool is not "
            f"settled: {ours}, {held} by no more than the noise ({numbers})."
        )
    if is_ahead:
        return (
            "A site would not have been better off with another tool: "
            f"{ours}, {held} ({numbers})."
        )
    return (
        f"A site would have been better off with {rival.label}: {ours}, {held} "
        f"({numbers})."
    )


def _listed(task: Task, gains: dict[Contender, Gain], held: str) -> str:
    ordered = sorted(gains, key=lambda who: -abs(gains[who].difference.mean))
    return join(
        [
            f"{who.label} is {held} {gains[who].over.label} "
            f"({_numbers(task, gains[who])})"
            for who in ordered
        ]
    )


def _numbers(task: Task, gain: Gain) -> str:
    text = task.measure.amount(gain_text(gain.difference))
    p = "no test of a single pair"
    if gain.adjusted is not None:
        p = f"p {number(gain.adjusted, 2)}"
    return f"{text}, {p}"


def _pairs(task: Task) -> str:
    counts = {gain.difference.pairs for gain in task.over_plain.values()}
    count = max(counts)
    return f"{count} {task.unit.removesuffix('s')}{'s' * (count != 1)}"
