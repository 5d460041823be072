"""A headless Chromium, driven through its own protocol over a pair of pipes.

No driver and no port: the browser reads commands from descriptor 3 and answers on 4,
each message JSON that ends in a zero byte.
"""

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-sandbox",  # root has none
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--window-size=1300,900",
)
BLANK = "about:blank"
PATIENCE = 120.0
"""Seconds to wait for an answer; a busy machine starts a browser slowly."""


def find_chromium():
    """Return the path of the browser, installing it where that is possible."""
    lock = Path(tempfile.gettempdir()) / f"guidefbo-chromium-{os.getuid()}.lock"
    with lock.open("w") as file:
        # Test processes run side by side and must not install it twice at once.
        fcntl.flock(file, fcntl.LOCK_EX)
        return _find() or (_install() and _find()) or None


def _find():
    return next((path for path in map(shutil.which, NAMES) if path), None)


def _install():
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return False
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "--no-install-recommends"]
    for command in (
        ["apt-get", "update"],
        [*install, "-o", "DPkg::Lock::Timeout=300", "chromium", "fonts-dejavu-core"],
    ):
        try:
            done = subprocess.run(
                command, env=environment, check=False, timeout=300, **quiet
            )
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == 0


class Browser:
    """One browser with one page; use it in a `with` statement."""

    def __init__(self, program, folder):
        self.events = []
        self._number = 0
        self._buffer = b""
        self._session = None
        command_read, self._out = _pipe()
        self._in, answer_write = _pipe()
        log = os.open(folder / "browser.log", os.O_CREAT | os.O_WRONLY, 0o600)
        command = [program, *OPTIONS, f"--user-data-dir={folder}", BLANK]
        actions = [
            (os.POSIX_SPAWN_DUP2, log, 1),
            (os.POSIX_SPAWN_DUP2, log, 2),
            (os.POSIX_SPAWN_DUP2, command_read, 3),
            (os.POSIX_SPAWN_DUP2, answer_write, 4),
        ]
        self._pid = os.posix_spawn(program, command, os.environ, file_actions=actions)
        for descriptor in (log, command_read, answer_write):
            os.close(descriptor)

    def __enter__(self):
        try:
            target = self.send("Target.createTarget", url=BLANK)["targetId"]
            attach = {"targetId": target, "flatten": True}
            self._session = self.send("Target.attachToTarget", **attach)["sessionId"]
            for domain in ("Page", "Runtime", "Network", "Log"):
                self.send(f"{domain}.enable")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *error):
        self.close()

    def send(self, method, **params):
        """Send a command and return its result; events on the way are kept."""
        self._number += 1
        form = {"id": self._number, "method": method, "params": params}
        form |= {"sessionId": self._session} if self._session else {}
        os.write(self._out, json.dumps(form).encode() + b"\0")
        while True:
            message = self._receive()
            if message.get("id") == self._number:
                assert "error" not in message, message
                return message["result"]
            self.events.append(message)

    def open(self, address):
        """Open an address anew and wait until it is loaded."""
        if address != BLANK:
            # Another place in the page that is open would load nothing.
            self.open(BLANK)
        self.events.clear()
        self.send("Page.navigate", url=address)
        while not self.named("Page.loadEventFired"):
            self.events.append(self._receive())

    def named(self, *methods):
        """Return the parameters of the events of that name so far."""
        return [e["params"] for e in self.events if e.get("method") in methods]

    def evaluate(self, expression):
        """Return the value of a JavaScript expression in the page."""
        how = {"returnByValue": True, "awaitPromise": True}
        answer = self.send("Runtime.evaluate", expression=expression, **how)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def click(self, selector):
        """Press and release the mouse in the middle of an element."""
        place = self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center', inline: 'center'});"
            "const r = e.getBoundingClientRect();"
            "return {x: r.x + r.width / 2, y: r.y + r.height / 2}; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            button = {"button": "left", "clickCount": 1}
            self.send("Input.dispatchMouseEvent", type=kind, **place, **button)

    def press(self, key):
        """Press and release a key that writes nothing."""
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def screenshot(self, path):
        """Save what the window shows."""
        picture = self.send("Page.captureScreenshot")["data"]
        path.write_bytes(base64.b64decode(picture))

    def close(self):
        """End the browser and everything it started."""
        if self._pid is None:
            return
        with suppress(OSError, AssertionError, TimeoutError):
            self._session = None
            self.send("Browser.close")
        for descriptor in (self._out, self._in):
            os.close(descriptor)
        until = time.monotonic() + 15.0
        while os.waitpid(self._pid, os.WNOHANG)[0] == 0:
            if time.monotonic() > until:
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
                break
            time.sleep(0.05)
        self._pid = None

    def _receive(self):
        until = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            left = max(until - time.monotonic(), 0.0)
            if not select.select([self._in], [], [], left)[0]:
                raise TimeoutError(f"The browser was silent for {PATIENCE} seconds.")
            data = os.read(self._in, 1 << 16)
            if not data:
                raise OSError("The browser closed its pipe.")
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)


def _pipe():
    """Return a pipe whose ends do not lie where the browser expects its own."""
    ends = os.pipe()
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return moved
