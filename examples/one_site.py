"""One site alone: ask, evaluate, tell, stop, come back.

A lab tunes a reaction: a dose on a logarithmic scale, whole minutes, one of three
catalysts, stirred or not. Now and then a sample is lost. The agent lives in one file;
every step of the loop below could be a process of its own, days apart.

    python examples/one_site.py
"""

import math
import tempfile
from pathlib import Path

import guidefbo as gf

SPACE = gf.Space(
    dose=gf.Float(0.1, 10, log=True),
    minutes=gf.Int(1, 60),
    catalyst=gf.Choice("copper", "nickel", "palladium"),
    stirred=gf.Bool(),
)
STRENGTH = {"copper": 55.0, "nickel": 70.0, "palladium": 82.0}


def run_reaction(values):
    """Return the yield in percent: the experiment, here a formula."""
    off = math.log(values["dose"] / 2.2) ** 2 + ((values["minutes"] - 38) / 25) ** 2
    return (STRENGTH[values["catalyst"]] + 6.0 * values["stirred"]) * math.exp(-off)


def main():
    """Run 25 reactions, each with the agent loaded afresh from its file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "reactor.json"
        agent = gf.Agent(SPACE, goal="max", seed=7)
        # What the lab knows already may start it.
        known = {"dose": 1.0, "minutes": 20, "catalyst": "copper", "stirred": True}
        agent.tell(known, 21.3)
        agent.save(file)

        for day in range(1, 26):
            agent = gf.Agent.load(file)
            trial = agent.ask()
            if day == 9:
                agent.tell(trial, failed="sample lost")
            else:
                agent.tell(trial, run_reaction(trial.values))
            agent.save(file)

        agent = gf.Agent.load(file)
        print(agent)
        # Two reactors free on Monday: a batch of two different points.
        for trial in agent.ask(2):
            print(trial)


if __name__ == "__main__":
    main()
