"""Time one evaluation of the problem activity beside the same training in PyTorch.

    pip install torch==2.13.0
    python benchmarks/activity.py [--repeats 10] [--write] [--out DIR] [--toy]

Both sides train on the same rows from the same weights in the same order, in turns and
with one thread. The rows are random numbers of the size of a subject's halves, so that
no data set is needed. `--write` puts the table into docs/results/activity-speed.md;
`--toy` does all of it at a size that takes a moment and measures nothing.
"""

import argparse
import platform
import statistics
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import reference_torch
from guidefbo.experiments.commit import stamp
from guidefbo.problems.realworld.softmax import Rows, train

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
NUM_ROWS, NUM_FEATURES, NUM_CLASSES, NUM_EPOCHS = 172, 561, 6, 100
"""172 is half of the mean number of windows of a subject."""
SIZES = (20, 40, 60)
L2, RATE = 1e-3, 0.03


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=10, help="of each training")
    parser.add_argument("--write", action="store_true", help="write the table to --out")
    parser.add_argument("--out", type=Path, default=RESULTS, help="docs/results")
    parser.add_argument("--toy", action="store_true", help="two epochs, one repeat")
    given = parser.parse_args()
    epochs, repeats = (2, 1) if given.toy else (NUM_EPOCHS, given.repeats)
    with threadpool_limits(1):
        text = "\n".join(report(epochs, repeats)) + "\n"
    print(text)
    if given.write:
        (given.out / "activity-speed.md").write_text(text, encoding="utf-8")


def report(epochs: int, repeats: int) -> list[str]:
    return [
        "# Speed of one activity evaluation",
        "",
        f"Written by `python benchmarks/activity.py --repeats {repeats} --write`: "
        f"{epochs} epochs on {NUM_ROWS} rows of {NUM_FEATURES} features, standardising "
        f"and scoring {NUM_ROWS} more included; one process, one thread, "
        f"{platform.processor() or platform.machine()}. The two take turns; medians of "
        f"processor time over {repeats} repeats, and of their ratios. PyTorch's side "
        "is `benchmarks/reference_torch.py`, in single precision; ours is in double.",
        "",
        stamp(),
        "",
        "| batch size | ours, ms | PyTorch, ms | times faster | largest difference of "
        "a logit |",
        "|---|---|---|---|---|",
        *(row(size, epochs, repeats) for size in SIZES),
    ]


def row(size: int, epochs: int, repeats: int) -> str:
    rng = np.random.default_rng(size)
    classes = np.arange(NUM_ROWS) % NUM_CLASSES
    centres = rng.normal(size=(NUM_CLASSES, NUM_FEATURES))
    raw = rng.normal(size=(2 * NUM_ROWS, NUM_FEATURES))
    raw += 0.1 * np.tile(centres[classes], (2, 1))
    weights = rng.uniform(-0.04, 0.04, size=(NUM_FEATURES + 1, NUM_CLASSES))
    orders = np.array([rng.permutation(NUM_ROWS) for _ in range(epochs)])
    settings = {"batch_size": size, "l2": L2, "rate": RATE}
    ours, theirs, differences = [], [], []
    for _ in range(repeats):
        began = time.process_time()
        rows = Rows.of(raw[:NUM_ROWS], raw[NUM_ROWS:], classes, NUM_CLASSES)
        logits = train(rows, weights, orders, **settings)
        between = time.process_time()
        mean, std = raw[:NUM_ROWS].mean(axis=0), raw[:NUM_ROWS].std(axis=0)
        others = reference_torch.train(
            (raw - mean) / std, classes, weights, orders, **settings
        )
        ended = time.process_time()
        ours.append(between - began)
        theirs.append(ended - between)
        differences.append(np.abs(logits - others).max())
    ratio = statistics.median(b / a for a, b in zip(ours, theirs, strict=True))
    a, b = (1e3 * statistics.median(each) for each in (ours, theirs))
    return f"| {size} | {a:.1f} | {b:.1f} | {ratio:.1f}x | {max(differences):.1e} |"


if __name__ == "__main__":
    main()
