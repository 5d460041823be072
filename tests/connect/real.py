"""The real service in a process of its own, and its host's commands."""

import os
import subprocess
import sys
from contextlib import contextmanager

from typer.testing import CliRunner

from guidefbo.cli.app import app

COMMAND = [sys.executable, "-c", "from guidefbo.cli.app import main; main()"]
"""What the installed script `guidefbo` does."""
LINE = '[parameters.x]\ntype = "float"\nlow = 0\nhigh = 1\n'
SPACE = """
[parameters.dose]
type = "float"
low = 0.1
high = 10
log = true

[parameters.drug]
type = "choice"
options = ["a", "b"]
"""


def command(*words, code=0):
    """Run a command in this process; return what it printed on stdout."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, f"{done.output}\n{done.exception!r}"
    return done.stdout


class Host:
    """A store and the commands of who hosts a federation."""

    def __init__(self, folder, *, space=LINE, method="shape-ucb", min_sites=2):
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.store = f"sqlite:///{folder / 'guidefbo.db'}"
        (folder / "space.toml").write_text(space)
        words = ["--goal", "max", "--method", method, "--min-sites", min_sites]
        self("federation", "create", "reaction", folder / "space.toml", *words)

    def __call__(self, *words):
        return command(*words, "--store", self.store)

    def invite(self, site, *words):
        return self("federation", "invite", "reaction", site, *words).split()[0]

    def sites(self):
        return self("federation", "sites", "reaction")

    @contextmanager
    def serving(self, *words, port=0, within=()):
        """Run the service, on loopback unless told otherwise; yield its address.

        Args:
            words: Further options.
            port: Where to listen; 0: a free one.
            within: Words before the command, such as those that enter a namespace.
        """
        arguments = ["serve", "--store", self.store, "--port", str(port)]
        with (self.folder / "serve.log").open("a") as log:
            process = subprocess.Popen(
                [
                    *within,
                    *COMMAND,
                    *arguments,
                    "--rate-site",
                    "0",
                    "--rate-address",
                    "0",
                    *words,
                ],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=os.environ | {"OMP_NUM_THREADS": "1"},
            )
        try:
            yield self._address(process)
        finally:
            process.terminate()
            process.wait(30)
            process.stdout.close()

    def _address(self, process):
        for line in process.stdout:
            if line.startswith("listening at "):
                return line.split()[-1]
        raise AssertionError((self.folder / "serve.log").read_text())
