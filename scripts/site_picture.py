"""Draw the picture of a site's agent: one of three labs that exchange guidance.

    python scripts/site_picture.py [-o docs/images/site.png] [--weeks 13]

The labs' optima differ a little; two of the first lab's assays fail.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import guidefbo as gf
from guidefbo.core.streams import Purpose, Streams

SPACE = gf.Space(
    dose=gf.Float(0.1, 100, log=True),
    temperature=gf.Float(20, 110),
    solvent=gf.Choice("water", "ethanol", "dimethyl sulfoxide", "acetone"),
    cycles=gf.Int(1, 12),
    stirred=gf.Bool(),
    speed=gf.Int(50, 900),
)
GAIN = {"water": 0.0, "ethanol": 5.0, "dimethyl sulfoxide": 9.0, "acetone": 2.0}
NOISE = 0.6
WEEKS = 13
"""Exchanges, with two trials of every lab before each."""
FAILED = (5, 14)
"""Trials of the first lab that fail."""


def run_assay(lab: int, values: dict[str, Any], stream: np.random.Generator) -> float:
    """Return a noisy yield; every lab's optimum lies a little elsewhere."""
    dose = np.log10(values["dose"]) - 0.3 - 0.1 * lab
    heat = (values["temperature"] - 72.0 - 4.0 * lab) / 20.0
    speed = (values["speed"] - 300.0) / 150.0
    return float(
        78.0
        + GAIN[values["solvent"]]
        + 1.5 * values["stirred"]
        - 9.0 * dose**2
        - 3.0 * heat**2
        - 0.5 * abs(values["cycles"] - 7)
        - 2.0 * speed**2
        + NOISE * stream.standard_normal()
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--out", type=Path, default="docs/images/site.png")
    parser.add_argument("--weeks", type=int, default=WEEKS)
    given = parser.parse_args()
    labs = [
        gf.Agent(SPACE, goal="max", seed=0, agent_id=n, num_agents=3, initial=8)
        for n in range(3)
    ]
    streams = Streams(0)
    for week in range(1, given.weeks + 1):
        for n, agent in enumerate(labs):
            for trial in agent.ask(2):
                if n == 0 and trial.id in FAILED:
                    agent.tell(trial, failed="pump broke")
                    continue
                stream = streams.at(Purpose.NOISE, agent=n, t=trial.id)
                agent.tell(trial, run_assay(n, trial.values, stream))
        uploads = {str(n): agent.upload() for n, agent in enumerate(labs)}
        sent = {name: m for name, m in uploads.items() if m is not None}
        for name, packet in gf.merge(sent, t=week).items():
            labs[int(name)].receive(packet)
    agent = labs[0]
    agent.ask(2)
    agent.plot(given.out)
    print(agent)


if __name__ == "__main__":
    main()
