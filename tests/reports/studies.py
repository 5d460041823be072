"""Result folders made by hand: valid files, no run behind them."""

import itertools
import json
from dataclasses import asdict

import numpy as np

from guidefbo.experiments.notes import note_on
from guidefbo.experiments.outcome import Outcome
from guidefbo.experiments.results import StudyResults
from guidefbo.experiments.study_json import MethodNote, Row
from guidefbo.methods.registry import method_names

PROBLEMS = ("ackley", "levy", "sphere")


def spec(problem="ackley", method="ucb", seed=0, **fields):
    """Return the spec of a row, the paper's conditions unless said otherwise."""
    usual = {
        "problem": problem,
        "dim": 10,
        "level": 2,
        "common_shift": 0.0,
        "noise": 0.1,
        "noise_units": "scaled",
        "method": method,
        "num_agents": 16,
        "num_initial": 30,
        "num_rounds": 50,
        "seed": seed,
        "settings": {},
    }
    return usual | fields


def run(final, start=None, seconds=10.0, **more):
    """Return the parts of a record that are not its spec."""
    start = 2.0 * abs(final) + 1.0 if start is None else start
    record = {
        "format": "guidefbo-run",
        "version": 1,
        "mean_simple_regret": [start, 0.5 * (start + final), final],
        "scalars": {"up_per_agent_round": 22, "down_per_agent_round": 80.5},
        "scalars_paper": {"up_per_agent_round": 22, "down_per_agent_round": 105},
        "bytes": {"up_per_agent_round": 500, "down_per_agent_round": 1800},
        "seconds": {"total": seconds},
        "environment": {"guidefbo": "0.1.0", "python": "3.11"},
    }
    return record | more


class Folder:
    """Collects rows and writes them as a study's folder."""

    def __init__(self, path, name="made-up", title="Made up", sections=(), **more):
        self.path = path
        self.rows = []
        self.form = {
            "format": "guidefbo-study",
            "version": 1,
            "name": name,
            "title": title,
            "text": "",
            "sections": list(sections),
            "definition": {},
        } | more
        (path / "runs").mkdir(parents=True)

    def add(self, row_spec, record=None, error=None, variant=None, group=None):
        """Add a row: finished, failed, or missing if neither is given."""
        key = f"row{len(self.rows)}"
        row = {"key": key, "spec": row_spec}
        row |= {"variant": variant} if variant else {}
        row |= {"group": group} if group else {}
        self.rows.append(row)
        if record is not None:
            self._write(f"{key}.json", {"spec": row_spec} | record)
        if error is not None:
            form = {"format": "guidefbo-failure", "version": 1, "error": error}
            self._write(f"{key}.failed.json", form)
        return self

    def add_finals(self, table, **fields):
        """Add final regrets by (method, problem), a list with one for each seed.

        None in a list is a run that is missing.
        """
        for (method, problem), finals in table.items():
            for seed, final in enumerate(finals):
                record = None if final is None else run(final)
                self.add(spec(problem, method, seed, **fields), record)
        return self

    def save(self):
        """Write study.json with notes on the methods; return the folder."""
        named = {str(row["spec"].get("method")) for row in self.rows}
        notes = {name: asdict(note_on(name)) for name in named & set(method_names())}
        form = {"methods": notes} | self.form | {"rows": self.rows}
        (self.path / "study.json").write_text(json.dumps(form))
        return self.path

    def _write(self, name, form):
        (self.path / "runs" / name).write_text(json.dumps(form))


def finals_of(methods, problems=PROBLEMS, seeds=3, scale=1.0):
    """Return plausible finals by (method, problem), all different."""
    return {
        (method, problem): [
            scale * (10.0 + 3.0 * m + 5.0 * p + 0.25 * seed * (1 + m))
            for seed in range(seeds)
        ]
        for (m, method), (p, problem) in itertools.product(
            enumerate(methods), enumerate(problems)
        )
    }


class Tasks:
    """Collects runs on tasks, which have no level, and lays them out as results."""

    def __init__(self, sections=(), **more):
        self.rows, self.outcomes = [], {}
        self.more = {"sections": tuple(sections), "other_code": {}} | more

    def add(self, task, method, values, *, start=0.0, size=None, **more):
        """Add a run for each seed; a value is the final mean, or a list of sites'.

        None is a run that is missing; `more` are fields of the outcomes.
        """
        for seed, value in enumerate(values):
            key = f"row{len(self.rows)}"
            row = {"problem": task, "method": method, "seed": seed, "settings": {}}
            self.rows.append(Row(key=key, spec=row | (size or {})))
            if value is None:
                continue
            sites = np.array(value, dtype=float) if isinstance(value, list) else None
            final = float(value if sites is None else sites.mean())
            self.outcomes[key] = Outcome(
                **{
                    "curve": np.array([start, 0.5 * (start + final), final]),
                    "metric": {"name": "AUC", "unit": "", "direction": "max"},
                    "site_finals": sites,
                    "seconds": {"total": 1.0},
                }
                | more
            )
        return self

    def results(self):
        """Return the results of the study."""
        named = {row.spec["method"] for row in self.rows}
        notes = {name: note_on(name) for name in named & set(method_names())}
        for name in named - set(method_names()):
            notes[name] = MethodNote(strategy=name, rule=name, is_plain=True)
        return StudyResults(
            name="tasks",
            title="Tasks",
            text="",
            rows=tuple(self.rows),
            outcomes=self.outcomes,
            failures={},
            definition={},
            methods=notes,
            **self.more,
        )
