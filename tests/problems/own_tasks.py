"""Problems of one's own, as a user would write them in a file."""

import math

import guidefbo as gf


class Curved:
    """A loss around one's own best dose; drug a is the right one."""

    def __init__(self, best):
        self.best = best

    def __call__(self, values):
        wrong = 0.0 if values["drug"] == "a" else 0.3
        return (math.log10(values["dose"]) - self.best) ** 2 + wrong


def space():
    return gf.Space(
        dose=gf.Float(0.1, 10, log=True), days=gf.Int(1, 5), drug=gf.Choice("a", "b")
    )


def reaction(seed=0):
    sites = [Curved(best) for best in (0.1, 0.2, 0.3)]
    return gf.Tasks(
        space(),
        sites,
        goal="min",
        metric="loss",
        unit="mg",
        names=["north", "south", "west"],
        optima=[0.0, 0.0, 0.0],
        held_out=sites,
        num_initial=4,
        num_rounds=2,
        source="made up",
    )


def measured():
    """Noisy measurements, no optimum known, a mixture under a constraint."""
    parts = gf.Space(water=gf.Float(0, 1), oil=gf.Float(0, 1)).subject_to(
        gf.SumTo(1.0, "water", "oil")
    )
    return gf.Tasks(
        parts,
        [lambda v: v["oil"], lambda v: 2 * v["oil"]],
        observers=[
            lambda v, stream: v["oil"] + stream.normal(),
            lambda v, stream: 2 * v["oil"] + stream.normal(),
        ],
        num_initial=3,
        num_rounds=1,
    )


def broken():
    return gf.Tasks(space(), [lambda v: float("nan")], num_initial=2, num_rounds=1)


def nothing():
    return 7


HELPER = 3
