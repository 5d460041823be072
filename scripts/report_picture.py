"""Take a picture of a report's page, as a reader sees it.

    python scripts/report_picture.py DIR/report.html [--section regret]
        [--size 1300x1000] [-o docs/images/report.png]

Needs Chromium; on Debian: apt-get install chromium.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path, help="report.html")
    parser.add_argument("--section", default="", help="the tab to open")
    parser.add_argument("--size", default="1300x1000", help="of the window")
    parser.add_argument("-o", "--out", type=Path, default="docs/images/report.png")
    arguments = parser.parse_args()
    program = next((path for path in map(shutil.which, NAMES) if path), None)
    if program is None:
        print("No Chromium found. On Debian: apt-get install chromium", file=sys.stderr)
        return 1
    if not arguments.page.is_file():
        print(f"There is no {arguments.page}.", file=sys.stderr)
        return 1
    address = arguments.page.resolve().as_uri()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as profile:
        command = [
            program,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            f"--user-data-dir={profile}",
            f"--window-size={arguments.size.replace('x', ',')}",
            f"--screenshot={arguments.out.resolve()}",
            f"{address}#{arguments.section}",
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode or not arguments.out.is_file():
        print(done.stderr, file=sys.stderr)
        return 1
    print(arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
