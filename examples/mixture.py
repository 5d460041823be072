"""A mixture: three shares that add up to one, and a limit on what they cost.

    python examples/mixture.py

The strongest mixture would cost too much, so the best one lies on the limit.
"""

import guidefbo as gf

SPACE = gf.Space(
    resin=gf.Float(0.1, 0.9),
    filler=gf.Float(0.0, 0.7),
    fibre=gf.Float(0.0, 0.5),
    cure=gf.Int(2, 12),
).subject_to(
    gf.SumTo(1.0, "resin", "filler", "fibre"),
    gf.AtMost({"resin": 3.0, "filler": 0.5, "fibre": 8.0}, 4.0),
)


def strength(values):
    """Return the strength of a sample: the experiment, here a formula."""
    resin, fibre, cure = values["resin"], values["fibre"], values["cure"]
    return 100.0 * fibre**0.5 * resin**0.5 - 2.0 * (cure - 7) ** 2


def main():
    """Mix and test 25 samples."""
    agent = gf.Agent(SPACE, goal="max", seed=1)
    for _ in range(25):
        trial = agent.ask()
        agent.tell(trial, strength(trial.values))
    best = agent.best()
    print(best)
    shares = {name: best.values[name] for name in ("resin", "filler", "fibre")}
    cost = 3.0 * shares["resin"] + 0.5 * shares["filler"] + 8.0 * shares["fibre"]
    print(f"shares add up to {sum(shares.values()):.12f}, cost {cost:.4f} of 4")


if __name__ == "__main__":
    main()
