"""Three sites that exchange files by hand, and never an observation.

Each plant tunes its own oven; the best settings are similar, not equal. Once a week
every site writes one small message, somebody puts the three into one folder and merges
them, and every site takes its answer. A site that is missing one week works alone.

    python examples/three_sites.py
"""

import tempfile
from pathlib import Path

import guidefbo as gf

SPACE = gf.Space(
    heat=gf.Float(150, 250), minutes=gf.Float(5, 90, log=True), fan=gf.Int(0, 4)
)
BEST = {"north": (205, 31, 2), "south": (212, 27, 2), "west": (208, 35, 3)}
"""Where each plant's own optimum lies; nobody knows this."""


def bake(site, values):
    """Return the share of rejected loaves in percent: lower is better."""
    heat, minutes, fan = BEST[site]
    return (
        0.5
        + ((values["heat"] - heat) / 20) ** 2
        + ((values["minutes"] - minutes) / 12) ** 2
        + 0.4 * (values["fan"] - fan) ** 2
    )


def main():
    """Run eight weeks of two bakes a week at every site."""
    agents = {
        site: gf.Agent(
            SPACE,
            goal="min",
            method="guide-ucb",
            seed=3,
            agent_id=n,
            num_agents=3,
            site=site,
        )
        for n, site in enumerate(BEST)
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for week in range(1, 9):
            for site, agent in agents.items():
                for trial in agent.ask(2):
                    agent.tell(trial, bake(site, trial.values))
                message = agent.upload()
                if message is not None and (site, week) != ("west", 5):
                    (folder / f"{site}.json").write_bytes(message.to_bytes())

            # Whoever coordinates: files in, files out.
            uploads = {path.stem: path.read_bytes() for path in folder.glob("*.json")}
            for site, packet in gf.merge(uploads, t=week).items():
                guidance = agents[site].receive(packet)
            for path in folder.glob("*.json"):
                path.unlink()

        print(f"one message: {len(uploads['north'])} bytes, one answer: {len(packet)}")
        print(guidance)
    for site, agent in agents.items():
        print(f"\n{site}\n{agent.best()}")


if __name__ == "__main__":
    main()
