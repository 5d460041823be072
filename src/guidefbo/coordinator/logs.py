"""Logs as JSON, one object a line.

Only fields that are named here are written, so that no code, token, key or message can
get into a log by accident.
"""

import json
import logging
import sys
from datetime import UTC, datetime

FIELDS = (
    "purpose",
    "outcome",
    "federation",
    "site",
    "number",
    "ms",
    "left_out",
    "reason",
    "method",
    "path",
    "status",
    "address",
)
"""What a line may hold beside time, level and event."""
ROOT = "guidefbo.coordinator"


class JsonLines(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(
                timespec="milliseconds"
            ),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        line |= {
            name: value
            for name in FIELDS
            if (value := getattr(record, name, None)) is not None
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def start_logging(level: str = "info") -> None:
    """Write the coordinator's log to stderr.

    Args:
        level: Least of debug, info, warning, error that is written.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in (ROOT, "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level.upper())
        logger.propagate = False
