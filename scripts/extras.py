"""Install the adapters' extras alone and together, each in a fresh environment.

    python scripts/extras.py [--sets optuna,optuna+botorch] [--write] [--out DIR]

For every set a virtual environment is made with the interpreter that runs this, the
package is built and installed with these extras, and pip is asked whether everything
fits (`pip check`). Then each adapter is imported, and `import guidefbo` must load none
of their packages. PyTorch is installed first and by itself, as the pages say. It takes
some two minutes a set, and a package index that pip reaches.
"""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from guidefbo.experiments.commit import stamp

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
TORCH = "torch==2.13.0"
ADAPTERS = {"optuna": "optuna", "botorch": "botorch", "flower": "flwr"}
"""Extra, which is also the adapter's module -> the package it adapts."""
REST = ("connect", "service", "postgres", "plot", "study", "tasks")
SETS = (
    *((name,) for name in ADAPTERS),
    tuple(ADAPTERS),
    (*ADAPTERS, *REST),
)
SHOWN = ("optuna", "botorch", "flwr", "protobuf", "click", "typer", "rich", "fastapi")
"""Packages whose versions are told: the adapted ones, and those that Flower pins."""
HEAVY = [*ADAPTERS.values(), "torch", "gpytorch", "guidefbo.integrations"]
LOADED = f"""
import json, sys, guidefbo
print(json.dumps(sorted(set({HEAVY}) & sys.modules.keys())))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """What came of one set of extras."""

    extras: tuple[str, ...]
    is_clean: bool
    """Whether pip finds that everything fits."""
    said: str
    """What `pip check` printed."""
    loaded: tuple[str, ...]
    """Packages of adapters that `import guidefbo` has loaded; none, if all is well."""
    failed: tuple[str, ...]
    """Adapters of the set that could not be imported."""
    versions: dict[str, str]
    megabytes: float
    seconds: float

    @property
    def is_well(self) -> bool:
        """Whether everything holds that should."""
        return self.is_clean and not self.loaded and not self.failed


def install(extras: tuple[str, ...], wheel: Path, folder: Path) -> Installed:
    """Install a set of extras into a fresh environment and look at it."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    # Isolated: PYTHONPATH does not take the place of what is installed.
    python = [folder / "bin" / "python", "-I"]
    pip = [*python, "-m", "pip", "--disable-pip-version-check"]
    if "botorch" in extras:
        subprocess.run([*pip, "install", "--quiet", TORCH], check=True)
    wanted = f"{wheel}[{','.join(extras)}]"
    subprocess.run([*pip, "install", "--quiet", wanted], check=True)
    checked = ask(*pip, "check")
    listed = ask(*pip, "list", "--format=json")
    loaded = ask(*python, "-c", LOADED)
    failed = [
        name
        for name in extras
        if name in ADAPTERS and not imports(python, f"guidefbo.integrations.{name}")
    ]
    size = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())
    return Installed(
        extras=extras,
        is_clean=checked.returncode == 0,
        said=checked.stdout.strip(),
        loaded=tuple(json.loads(loaded.stdout)),
        failed=tuple(failed),
        versions={p["name"].lower(): p["version"] for p in json.loads(listed.stdout)},
        megabytes=size / 1e6,
        seconds=time.monotonic() - began,
    )


def ask(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command and return what it printed."""
    return subprocess.run(words, capture_output=True, text=True)


def imports(python: list[str | Path], module: str) -> bool:
    """Return whether a module can be imported; say why not."""
    done = ask(*python, "-c", f"import {module}")
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)
    return done.returncode == 0


def page(found: list[Installed], made: str) -> str:
    """Return the table, with what pip found where it is not clean."""
    lines = [
        "# The extras, alone and together",
        "",
        "Written by `python scripts/extras.py --write`: each set of extras in a fresh "
        f"virtual environment, with the newest versions that pip finds; `{TORCH}` "
        "first and by itself where BoTorch is one of them. Clean: `pip check` has "
        "nothing to say. Imports: each adapter of the set can be imported, and `import "
        "guidefbo` has loaded none of the adapted packages. Seconds of wall, with "
        "downloads and whatever else ran on the machine.",
        "",
        f"{platform.machine()}, Python {platform.python_version()}.",
        "",
        made,
        "",
        "| extras | clean | imports | packages | MB | seconds | versions |",
        "|---|---|---|---|---|---|---|",
        *map(row, found),
    ]
    for each in found:
        if not each.is_clean:
            lines += ["", f"`{','.join(each.extras)}`:", "", "```text", each.said]
            lines += ["```"]
    return "\n".join(lines) + "\n"


def row(each: Installed) -> str:
    """Return a set's line of the table."""
    versions = [f"{n} {each.versions[n]}" for n in SHOWN if n in each.versions]
    wrong = [f"{name} cannot be imported" for name in each.failed]
    wrong += [f"{name} is loaded by us" for name in each.loaded]
    cells = [
        ", ".join(f"`{name}`" for name in each.extras),
        "yes" if each.is_clean else "NO",
        "; ".join(wrong) or "as said",
        str(len(each.versions)),
        f"{each.megabytes:.0f}",
        f"{each.seconds:.0f}",
        ", ".join(versions),
    ]
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Install the sets that are asked for, and return how many are not well."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    every = ",".join("+".join(extras) for extras in SETS)
    parser.add_argument("--sets", default=every, help="extras with +, sets with commas")
    parser.add_argument("--write", action="store_true", help="extras.md to --out")
    parser.add_argument("--out", type=Path, default=RESULTS, help="docs/results")
    given = parser.parse_args()
    sets = [tuple(text.split("+")) for text in given.sets.split(",")]
    unknown = sorted({name for extras in sets for name in extras} - {*ADAPTERS, *REST})
    if unknown:
        known = ", ".join((*ADAPTERS, *REST))
        parser.error(f"expected extras of {known}; got {', '.join(unknown)}")
    found: list[Installed] = []
    made = stamp()  # of the code that is built, which may be changed meanwhile
    with tempfile.TemporaryDirectory() as name:
        wheels = Path(name) / "wheels"
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
        words = ["wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, ROOT]
        subprocess.run([*pip, *words], check=True)
        (wheel,) = wheels.glob("*.whl")
        # An environment is dropped before the next is made: with PyTorch it is large.
        for extras in sets:
            print(f"... {'+'.join(extras)}", file=sys.stderr)
            with tempfile.TemporaryDirectory() as own:
                found.append(install(extras, wheel, Path(own)))
            print(row(found[-1]), flush=True)
    if given.write:
        (given.out / "extras.md").write_text(page(found, made), encoding="utf-8")
    return sum(not each.is_well for each in found)


if __name__ == "__main__":
    sys.exit(main())
