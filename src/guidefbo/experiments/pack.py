"""A pack: a study in one small file, with the mean curves of its runs."""

import gzip
import json
import zlib
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

from guidefbo.core.checks import shown
from guidefbo.core.errors import DataError
from guidefbo.core.files import InputError, read_file
from guidefbo.core.run_record import MAX_NUMBER, table_of, texts
from guidefbo.experiments.outcome import Outcome, outcome_entry, parse_outcome
from guidefbo.experiments.study_json import VERSION, Asked

PACK_FORMAT = "guidefbo-pack"
MAX_PACKED = 32 << 20
"""Bytes a pack may unfold to: 30 000 runs of 50 rounds fit."""
MAX_COMPRESSED = 16 << 20
"""Bytes a pack may have itself; they shrink to a sixth as a rule."""
CHUNK = 1 << 20
"""Bytes unfolded at a time."""


def write_pack(
    study: Asked, outcomes: Mapping[str, Outcome], failures: Mapping[str, str]
) -> bytes:
    """Return the pack: the study, and of every finished run the mean curve."""
    keys = dict.fromkeys(row.key for row in study.rows if row.key in outcomes)
    form = {
        "format": PACK_FORMAT,
        "version": VERSION,
        "study": study.to_form(),
        "runs": {key: outcome_entry(outcomes[key]) for key in keys},
        "failures": dict(failures),
    }
    text = json.dumps(form, separators=(",", ":"), allow_nan=False)
    if len(text) > MAX_PACKED:
        raise DataError(
            f"The pack would unfold to {len(text)} bytes, and at most {MAX_PACKED} are "
            "read again. Pack parts of the study."
        )
    # No name and no time in the head: equal studies give equal bytes.
    return gzip.compress(text.encode(), compresslevel=9, mtime=0)


def read_pack(path: Path) -> tuple[dict[str, Any], dict[str, Outcome], dict[str, str]]:
    """Return the study of a pack, its outcomes and the errors of failed runs."""
    form = _load(path)
    study, runs = form.get("study"), form.get("runs")
    is_pack = form.get("format") == PACK_FORMAT
    if not is_pack or not isinstance(study, dict) or not isinstance(runs, dict):
        raise DataError(
            f"{path} is no pack of a study. Make one with: guidefbo study pack DIR FILE"
        )
    outcomes: dict[str, Outcome] = {}
    for key, entry in table_of(runs).items():
        outcome = parse_outcome(table_of(entry))
        if outcome is None:
            # Nobody writes half a pack: one such run and the rest is as doubtful.
            raise DataError(
                f"{path} holds no result of the run {shown(key)}: expected a curve, or "
                f"a similarity, of finite numbers of at most {MAX_NUMBER:g} in size. "
                "Pack the study again."
            )
        outcomes[key] = outcome
    return table_of(study), outcomes, texts(form.get("failures"))


def _load(path: Path) -> dict[str, Any]:
    """Return the table in a pack, an empty one where the file is none."""
    try:
        data = read_file(path, MAX_COMPRESSED)
    except InputError as error:
        raise DataError(f"Cannot read {path}: {error}.") from error
    try:
        return table_of(json.loads(_unfold(data, path)))
    except DataError:
        raise
    except (OSError, EOFError, zlib.error, ValueError, RecursionError):
        return {}


def _unfold(data: bytes, path: Path) -> bytearray:
    """Return what a pack unfolds to, a piece at a time, or refuse it half-way."""
    pieces = bytearray()
    with gzip.GzipFile(fileobj=BytesIO(data)) as file:
        while piece := file.read(CHUNK):
            pieces += piece
            if len(pieces) > MAX_PACKED:
                raise DataError(
                    f"{path} unfolds to more than {MAX_PACKED} bytes, the most a pack "
                    "may. Pack parts of the study, or report on its folder."
                )
    return pieces
