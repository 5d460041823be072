"""Four sites tune one reaction for some weeks, as benches really work.

What is run differs a little from what was asked, runs fail, an impurity has a limit,
one site lacks a catalyst, a bound turns out too low, and in the end trials are a table.

    python examples/campaign.py
"""

import csv
import io
import math
import random
import warnings

import guidefbo as gf
from guidefbo.site.helping import help_of
from guidefbo.site.table import csv_of

SITES = ("north", "south", "east", "west")
SETTINGS = {"num_raw": 32, "num_starts": 4, "num_iterations": 8}
SPACE = gf.Space(
    temperature=gf.Float(30, 100, step=0.5, unit="degC"),
    time=gf.Float(60, 600, log=True, digits=3, unit="s"),
    catalyst=gf.Choice("P1", "P2", "P3"),
)


def reaction(values, shift):
    """Return yield and impurity of one run at a site, in per cent."""
    heat = (values["temperature"] - 105 - shift) / 40
    time = math.log(values["time"] / (300 + 20 * shift)) / 2
    better = {"P1": 0.0, "P2": 12.0, "P3": 5.0}[values["catalyst"]]
    result = 70 + better - 35 * heat**2 - 20 * time**2
    return result, 0.4 + 1.2 * math.exp(2 * heat) + 0.3 * time**2


def run_on(agent, trial, shift, bench):
    """Run what was asked as well as the bench can, and tell what came of it."""
    if bench.random() < 0.08:
        agent.tell(trial, failed="the pump stopped")
        return
    run = {
        **trial.values,
        "temperature": trial.values["temperature"] + bench.gauss(0, 1),
    }
    result, impurity = reaction(run, shift)
    agent.tell(
        trial,
        result + bench.gauss(0, 0.5),
        values={"temperature": round(run["temperature"], 1)},
        outcomes={"impurity": round(impurity, 2)},
    )


def main():
    """Run the campaign and print what each site knows at its end."""
    bench = random.Random(4)
    agents = {
        site: gf.Agent(
            SPACE,
            goal="max",
            method="shape-ucb",
            site=site,
            objective="yield",
            unit="%",
            outcomes=[gf.Outcome("impurity", at_most=2.0, unit="%")],
            seed=n,
            initial=4,
            settings=SETTINGS,
        )
        for n, site in enumerate(SITES)
    }
    # One site has no P3; it is never asked for it, and exchanges all the same.
    agents["west"].change(without={"catalyst": ["P3"]})
    for week in range(1, 7):
        if week == 4:
            # The best results lie at the upper bound: everybody moves it.
            for agent in agents.values():
                lines = agent.change(bounds={"temperature": (30, 130)})
            print(f"week {week}: {lines[0]}")
        for n, agent in enumerate(agents.values()):
            for trial in agent.ask(2):
                run_on(agent, trial, 3.0 * n, bench)
        packets = gf.merge({s: a.upload() for s, a in agents.items()}, t=week, seed=1)
        for site, packet in packets.items():
            agents[site].receive(packet)
    for site, agent in agents.items():
        print(f"\n{site}: {agent.best().text(agent.setup.labels)}")
        for line in help_of(agent).lines(agent.setup.labels):
            print(f"  {line}")
    read_back(agents["north"])


def read_back(agent):
    """Read an export again, with pandas where it is installed."""
    text = csv_of(agent)
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    results = [float(row["yield [%]"]) for row in rows if row["yield [%]"]]
    assert results == [t.value for t in agent.trials if t.value is not None]
    try:
        import pandas
    except ImportError:
        return print(f"\n{len(rows)} trials exported and read back")
    frame = pandas.read_csv(io.StringIO(text))
    assert frame["yield [%]"].dropna().tolist() == results
    return print(f"\n{len(frame)} trials exported and read back by pandas")


if __name__ == "__main__":
    with warnings.catch_warnings():
        # Said by the commands; here the campaign is long and the output short.
        warnings.simplefilter("ignore", UserWarning)
        main()
