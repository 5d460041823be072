"""`guidefbo methods --advise`: which method for which situation, in short."""

from guidefbo.methods.advice import CASES, NO_EVIDENCE
from guidefbo.methods.default import DEFAULT_METHOD, LONE_METHOD

PAGE = "docs/guide/which-method.md"
"""Where the same stands with links to the tables."""


def advice_lines() -> list[str]:
    """Return what was studied, what was best there, and what says so."""
    lines = [
        f"The default is {DEFAULT_METHOD}; without a packet it does what {LONE_METHOD} "
        "does.",
        "Ratios are of final regrets, below 1 is better; gains and means are of final "
        "values, ± standard error.",
    ]
    for case in CASES:
        lines += ["", case.situation, f"  use: {case.advice}"]
        lines += [
            f"    {figure} [docs/results/{figure.page}]" for figure in case.figures
        ]
    gaps = sum(case.advice == NO_EVIDENCE for case in CASES)
    return [*lines, "", f"{gaps} of {len(CASES)} situations were not studied. {PAGE}"]
