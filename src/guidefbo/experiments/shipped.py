"""Where the studies are that come with the package."""

from pathlib import Path


def shipped_folder() -> Path:
    """Return where the package's studies are: in the wheel, or in the checkout."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "studies"
    return inside if inside.is_dir() else package.parents[1] / "studies"


def shipped_files() -> dict[str, Path]:
    """Return the files of the package's studies by name."""
    return {file.stem: file for file in sorted(shipped_folder().glob("*.toml"))}
