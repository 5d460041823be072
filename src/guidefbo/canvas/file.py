"""A figure as a file: as small as it may be without looking different."""

import re
from io import BytesIO
from pathlib import Path
from typing import Any

from guidefbo.core.files import write_atomically

_PATH = re.compile(rb' d="[^"]*"')
_LONG_NUMBER = re.compile(rb"(\d\.\d\d)\d+")


def save_figure(figure: Any, path: str | Path | None) -> Any:
    """Write the figure, whole or not at all, where there is a path; return it."""
    if path is not None:
        picture = picture_bytes(figure, Path(path).suffix[1:].lower())
        write_atomically(Path(path), picture)
    return figure


def picture_bytes(figure: Any, kind: str) -> bytes:
    """Return the figure as a file of that kind; equal figures give equal SVG."""
    import matplotlib

    module: Any = matplotlib
    picture = BytesIO()
    stamp: dict[str, Any] = {"metadata": {"Date": None}} if kind == "svg" else {}
    with module.rc_context({"svg.hashsalt": "guidefbo"}):
        figure.savefig(picture, dpi=150, format=kind, **stamp)
    data = picture.getvalue()
    if kind == "svg":
        return _PATH.sub(_shorten, data)
    return _with_few_colours(data) if kind == "png" else data


def _with_few_colours(data: bytes) -> bytes:
    """Return a PNG of 256 colours: a quarter of the size, the same look."""
    # Matplotlib writes its PNG with it, so it is there.
    from PIL import Image

    module: Any = Image
    picture = module.open(BytesIO(data)).convert("RGB")
    few = picture.quantize(
        256, method=module.Quantize.MAXCOVERAGE, dither=module.Dither.NONE
    )
    smaller = BytesIO()
    few.save(smaller, "png", optimize=True)
    return smaller.getvalue()


def _shorten(path: re.Match[bytes]) -> bytes:
    """Return a drawn path to a hundredth of a point: half the size, the same look."""
    return _LONG_NUMBER.sub(rb"\1", path[0])
