"""A web server on this machine that behaves well, or badly in one way."""

import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Web(ThreadingHTTPServer):
    """Serves `files` by path; the first part of the path says how.

    /good    whole files and ranges
    /whole   whole files, whatever part is asked for
    /cut     closes the connection after half of what it announced
    /stall   waits after half of a file until `go` is set
    /other   answers a range with another one
    /chunks  never says how long the file is
    /to      a redirection to `target`
    /404     and other numbers: that answer
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = {}
        self.target = ""
        self.go = threading.Event()
        self.asked = []

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        """A client that goes away is no error of the test."""


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        _, how, name = self.path.split("/", 2)
        asked = self.headers.get("Range")
        self.server.asked.append((how, asked))
        if how.isdigit():
            self.send_error(int(how))
            return
        if how == "to":
            self.send_response(302)
            self.send_header("Location", self.server.target)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        getattr(self, f"_{how}")(self.server.files[name], asked)

    def _good(self, data, asked, start_at=None):
        start = int(re.fullmatch(r"bytes=(\d+)-", asked)[1]) if asked else 0
        if asked and start >= len(data):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(data)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        start = start if start_at is None or not asked else start_at
        self.send_response(206 if asked else 200)
        if asked:
            last = len(data) - 1
            self.send_header("Content-Range", f"bytes {start}-{last}/{len(data)}")
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        self.wfile.write(data[start:])

    def _whole(self, data, asked):
        self._good(data, None)

    def _other(self, data, asked):
        self._good(data, asked, start_at=7)

    def _cut(self, data, asked):
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2])
        self.close_connection = True

    def _stall(self, data, asked):
        if asked:
            self._good(data, asked)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2])
        self.wfile.flush()
        self.server.go.wait(60)
        self.wfile.write(data[len(data) // 2 :])

    def _chunks(self, data, asked):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(data)
        self.close_connection = True


@contextmanager
def serving() -> Generator[Web, None, None]:
    with Web() as web:
        thread = threading.Thread(target=web.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield web
        finally:
            web.go.set()
            web.shutdown()
            thread.join()
