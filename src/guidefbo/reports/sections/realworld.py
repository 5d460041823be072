"""Tasks as they are: final metrics, tests, and a sentence of judgement on each."""

from collections.abc import Sequence

from guidefbo.reports.contenders import Contender
from guidefbo.reports.drawings import Dot, Stand, draw_stands
from guidefbo.reports.formats import (
    MISSING,
    OTHER_CODE,
    count_cell,
    gain_text,
    mark_best,
    number,
    other_code_notes,
    with_fine_error,
)
from guidefbo.reports.frame import Frame
from guidefbo.reports.looks import looks_of
from guidefbo.reports.paper import column_of, real_world
from guidefbo.reports.sections.ranks import ranked
from guidefbo.reports.shares import COLUMN as SHARE
from guidefbo.reports.shares import share_cell, share_notes
from guidefbo.reports.statistics import Summary
from guidefbo.reports.table import Block, Cell, Figure, Points, Section, Table, words
from guidefbo.reports.tasks import Gain, Task, find_tasks, papers_metric
from guidefbo.reports.verdicts import verdict

NAME = "realworld"
FEW_PAIRS = 5
"""Pairs up to which a table says how little they can show."""
REGENERATED = (
    "The paper's numbers come from the official surrogates of FedHPO, ours from "
    "whatever table the runs used; they are alike, not the same."
)


def realworld_section(frame: Frame) -> Section | None:
    """Return the tasks: one figure and one table over all, then each by itself."""
    tasks = find_tasks(frame)
    if not tasks:
        return None
    contenders = [w for w in frame.contenders() if any(w in t.finals for t in tasks)]
    ranks = _ranks(tasks, contenders)
    ordered = sorted(contenders, key=lambda who: ranks.get(who, 0.0))
    blocks: list[Block] = [
        _figure(frame, tasks, ordered),
        _overall(frame, tasks, ordered),
        "What this says, task by task (written by the program from the numbers; "
        "p-values are Holm's):",
        Points(items=tuple(map(verdict, tasks))),
    ]
    for task in tasks:
        blocks += [_about(task), _table(frame, task, ordered)]
    return Section(name=NAME, title="Task by task", blocks=tuple(blocks))


def _ranks(
    tasks: Sequence[Task], contenders: Sequence[Contender]
) -> dict[Contender, float]:
    """Return average ranks over the tasks that everybody completed."""
    table = [
        [task.measure.cost(task.finals[who].mean) for who in contenders]
        for task in _complete(tasks, contenders)
    ]
    return ranked(contenders, table)


def _complete(tasks: Sequence[Task], contenders: Sequence[Contender]) -> list[Task]:
    return [task for task in tasks if task.whole >= set(contenders)]


def _figure(
    frame: Frame, tasks: Sequence[Task], ordered: Sequence[Contender]
) -> Figure:
    looks = looks_of(frame.contenders())
    stands = [
        Stand(
            title=task.name,
            x_label=f"{task.measure.label}, {task.measure.better}",
            dots={
                who.label: Dot(
                    place=task.finals[who].mean,
                    error=task.finals[who].error,
                    papers=papers_metric(task, who),
                    colour=looks[who]["color"],
                )
                for who in ordered
                if who in task.finals
            },
        )
        for task in tasks
    ]
    names = [who.label for who in ordered]
    return Figure(
        name=NAME,
        title="Final values, task by task",
        draw=lambda: draw_stands(stands, names),
        notes=("Mean over the seeds; error bars: one standard error over the seeds.",),
    )


def _overall(
    frame: Frame, tasks: Sequence[Task], ordered: Sequence[Contender]
) -> Table:
    columns = {task: _finals(frame, task, ordered) for task in tasks}
    ranks = _ranks(tasks, ordered)
    complete = _complete(tasks, ordered)
    notes = [
        "Mean over seeds ± standard error; the best of a task is bold, the second-best "
        "underlined, among contenders with all their seeds."
    ]
    has_paper = any(papers_metric(t, w) is not None for t in tasks for w in ordered)
    if ranks:
        papers = " The paper's are among its twelve methods on three tasks."
        notes.append(
            f"Ranks over {len(complete)} of {len(tasks)} tasks: those that every "
            f"contender completed.{papers if has_paper else ''}"
        )
    notes += dict.fromkeys(
        note for task in tasks for note in other_code_notes(frame, task.conditions)
    )
    return Table(
        name=NAME,
        title="Final values",
        columns=(
            "method",
            *(f"{task.name} ({task.measure.label})" for task in tasks),
            *(["average rank"] if ranks else []),
        ),
        rows=tuple(
            (
                words(who.label),
                *(columns[task][n] for task in tasks),
                *([_rank_cell(who, ranks[who], has_paper)] if ranks else []),
            )
            for n, who in enumerate(ordered)
        ),
        notes=tuple(notes),
    )


def _rank_cell(who: Contender, value: float, has_paper: bool) -> Cell:
    column = column_of(who) if has_paper else None
    papers = None if column is None else real_world("average_rank", column)
    return Cell(
        text=f"{value:.2f}",
        under="" if papers is None else f"paper {papers:.2f}",
        value=value,
        data=(("mean", value), ("paper", papers)),
    )


def _finals(frame: Frame, task: Task, ordered: Sequence[Contender]) -> list[Cell]:
    cells = {who: _final_cell(frame, task, who) for who in ordered}
    return mark_best(cells, set(task.whole), task.measure)


def _final_cell(frame: Frame, task: Task, who: Contender) -> Cell:
    summary = task.finals.get(who)
    if summary is None:
        return Cell(text=MISSING)
    place = (task.conditions, task.name, who)
    asked = len(frame.samples(*place))
    text = with_fine_error(summary)
    if summary.count < asked:
        text += f" ({summary.count} of {asked} seeds)"
    if place in frame.others:
        text += f" {OTHER_CODE}"
    data = (("mean", summary.mean), ("error", summary.error), ("seeds", summary.count))
    return Cell(text=text, value=summary.mean, data=data)


def _about(task: Task) -> str:
    """Return the sentence above a task's table."""
    size = task.size
    parts = [f"{task.name}: {task.measure.label}, {task.measure.better}"]
    if size.num_agents is not None:
        parts.append(f"{size.num_agents} sites")
    if size.num_initial is not None and size.num_rounds is not None:
        parts.append(f"{size.num_initial} + {size.num_rounds} evaluations a site")
    sentences = [", ".join(parts), task.source.removesuffix(".")]
    return " ".join(f"{sentence}." for sentence in sentences if sentence)


def _table(frame: Frame, task: Task, ordered: Sequence[Contender]) -> Table:
    shown = [who for who in ordered if who in task.finals]
    shown.sort(key=lambda who: task.measure.cost(task.finals[who].mean))
    finals = dict(zip(shown, _finals(frame, task, shown), strict=True))
    papers = {who: papers_metric(task, who) for who in shown}
    has_paper = any(value is not None for value in papers.values())
    columns: dict[str, list[Cell]] = {
        "method": [words(who.label) for who in shown],
        task.measure.label: [finals[who] for who in shown],
        "seeds": [count_cell(task.finals[who].count) for who in shown],
    }
    if has_paper:
        columns["paper"] = [_paper_cell(papers[who]) for who in shown]
    if task.held_out:
        columns["held-out"] = [_summary_cell(task.held_out.get(w)) for w in shown]
    if task.over_plain:
        gains = [_gain_cell(task.over_plain.get(w), is_named=True) for w in shown]
        columns["gain over its lone rule"] = gains
    if task.shares:
        columns[SHARE] = [share_cell(task.shares.get(w)) for w in shown]
    if task.rival is not None:
        gains = [_gain_cell(task.over_rival.get(w), is_named=False) for w in shown]
        columns[f"gain over {task.rival.label}"] = gains
    if task.regret_left:
        columns["regret left"] = [_summary_cell(task.regret_left.get(w)) for w in shown]
    return Table(
        name=f"{NAME}-{task.name}",
        title=task.name,
        columns=tuple(columns),
        rows=tuple(zip(*columns.values(), strict=True)),
        notes=_notes(frame, task, has_paper),
    )


def _paper_cell(value: float | None) -> Cell:
    if value is None:
        return Cell(text=MISSING)
    return Cell(text=f"{value:.6g}", value=value, data=(("", value),))


def _gain_cell(gain: Gain | None, is_named: bool) -> Cell:
    if gain is None:
        return Cell(text=MISSING)
    difference, adjusted = gain.difference, gain.adjusted
    told = [f"over {gain.over.label}"] if is_named else []
    if difference.p is not None and adjusted is not None:
        told.append(f"p {number(difference.p, 2)}, Holm {number(adjusted, 2)}")
    data = (
        ("gain", difference.mean),
        ("error", difference.error),
        ("pairs", difference.pairs),
        ("p", difference.p),
        ("p Holm", adjusted),
    )
    is_good = gain.is_told and difference.mean > 0.0
    return Cell(
        text=gain_text(difference),
        under="\n".join(told),
        value=difference.mean,
        mark="best" if is_good else "",
        data=data,
    )


def _summary_cell(summary: Summary | None) -> Cell:
    if summary is None:
        return Cell(text=MISSING)
    data = (("mean", summary.mean), ("error", summary.error))
    return Cell(text=with_fine_error(summary), value=summary.mean, data=data)


def _notes(frame: Frame, task: Task, has_paper: bool) -> tuple[str, ...]:
    notes = _test_notes(task) + share_notes(task.shares.values())
    if task.regret_left:
        notes.append(
            "Regret left: the mean regret at the end as a share of that after the "
            "initial design."
        )
    if task.held_out:
        notes.append(
            "Held-out: the final choice of every site, scored once on data that its "
            "objective never saw; mean over sites and seeds."
        )
    if has_paper and task.name == "fedhpo":
        notes.append(REGENERATED)
    if any(place[:2] == (task.conditions, task.name) for place in frame.others):
        notes += other_code_notes(frame, task.conditions)
    return tuple(notes)


def _test_notes(task: Task) -> list[str]:
    gains = [*task.over_plain.values(), *task.over_rival.values()]
    if not gains:
        return []
    counts = sorted({gain.difference.pairs for gain in gains})
    pairs = " to ".join(str(count) for count in dict.fromkeys([counts[0], counts[-1]]))
    what = (
        f"Pairs are seeds ({pairs}): runs of one seed share their initial points, and "
        "a run's value is the mean over its sites"
    )
    if task.unit == "sites":
        what = (
            f"Pairs are sites ({pairs}), each the mean of its final values over the "
            "seeds. Sites of one run hear of each other, so that they are less "
            "independent than the test takes them to be"
        )
    notes = [
        "Gains are mean paired differences ± standard error in the unit of the task, "
        f"above zero is better; bold where Holm's p is at most 0.05. {what}. Paired "
        "t-tests, two-sided; Holm's correction over the tests of a column."
    ]
    if task.unit == "seeds" and counts[0] <= FEW_PAIRS:
        notes.append(
            f"With {pairs} pairs only differences far above their standard error show."
        )
    return notes
