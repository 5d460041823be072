"""A small coordinator of letters for the tests: real signatures, real HTTP, a folder.

It holds everything in memory and follows the protocol's words, no more. What it answers
can be bent on purpose: `twist` gets the answer's payload and the key and returns bytes.
"""

import json
import threading
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from guidefbo import Float, Space
from guidefbo.core.files import write_atomically
from guidefbo.core.space.form import fingerprint, space_to_form
from guidefbo.methods.registry import find_method
from guidefbo.server.exchange import build_server, exchange
from guidefbo.wire.codec import read_head
from guidefbo.wire.envelope import Terms, UploadHead
from guidefbo.wire.keys import SigningKey
from guidefbo.wire.letter import read_letter, seal

SPACE = Space(dose=Float(0.1, 10, log=True))
LIGHT = {"num_raw": 8, "num_starts": 1, "num_iterations": 3}


class Refused(Exception):
    def __init__(self, status, code, message):
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class Answerer:
    """One federation, its sites and their newest uploads."""

    def __init__(self, method="shape-ucb", *, space=SPACE, goal="max", min_sites=2):
        self.key = SigningKey.make()
        self.space, self.goal, self.method = space, goal, method
        known = find_method(method).settings
        self.settings = {k: v for k, v in LIGHT.items() if k in known}
        strategy = find_method(method).strategy
        self.terms = Terms(
            federation="reaction",
            space=fingerprint(space),
            strategy=strategy.name,
            strategy_version=strategy.version,
        )
        self.server = build_server(strategy.name, {})
        self.min_sites = min_sites
        self.seed = None
        self.codes = {}
        self.keys, self.roles, self.last, self.uploads = {}, {}, {}, {}
        self.joins = {}
        self.round = 0
        self.seen = []
        self.applied = []
        self.twist = None
        self.lock = threading.Lock()

    def invite(self, site, role="site"):
        code = f"CODE-{site}"
        self.codes[code] = (site, role)
        return code

    def answer(self, data):
        """Return a status and the bytes of an answer, as both doors do."""
        with self.lock:
            self.seen.append(data)
            letter = read_letter(data)
            payload = letter.payload
            common = {
                "federation": "reaction",
                "site": payload["site"],
                "number": payload["number"],
                "answers": letter.digest,
            }
            try:
                own = getattr(self, f"_{payload['purpose']}")(letter, payload)
            except Refused as error:
                refusal = {"error": error.code, "message": error.message}
                signed = common | {"purpose": "refusal"} | refusal
                return error.status, json.dumps(refusal).encode(), signed
            answer = common | {"purpose": "answer"} | own
            if self.twist is not None:
                return 200, self.twist(answer, self.key), answer
            return 200, seal(answer, self.key), answer

    def _join(self, letter, payload):
        if not letter.is_signed_by(payload["public_key"]):
            raise Refused(401, "bad_signature", "The letter is not signed by its key.")
        if letter.digest not in self.joins:
            found = self.codes.pop(payload["code"], None)
            if found is None:
                raise Refused(401, "unknown_code", "This code is not known here.")
            if payload["space"] not in (None, self.terms.space):
                self.codes[payload["code"]] = found
                raise Refused(409, "invalid", "Your space is another one.")
            self.joins[letter.digest] = found
            site, role = found
            self.keys[site], self.roles[site] = payload["public_key"], role
        site, role = self.joins[letter.digest]
        last = max(self.last.get(site, (0, ""))[0], payload["number"])
        self.last[site] = (last, letter.digest)
        return {
            "site": site,
            "terms": {
                "federation": "reaction",
                "space": self.terms.space,
                "strategy": self.terms.strategy,
                "strategy_version": self.terms.strategy_version,
            },
            "space": space_to_form(self.space),
            "goal": self.goal,
            "method": self.method,
            "settings": self.settings,
            "role": role,
            "coordinator_key": self.key.public,
            "min_sites": self.min_sites,
            "seed": self.seed,
            "last_number": last,
        }

    def _site(self, letter, payload):
        site = payload["site"]
        if site not in self.keys:
            raise Refused(403, "not_a_site", "You are not in this federation.")
        if not letter.is_signed_by(self.keys[site]):
            raise Refused(401, "bad_signature", "The letter is not signed by your key.")
        number, digest = self.last[site]
        is_same = (payload["number"], letter.digest) == (number, digest)
        if payload["number"] <= number and not is_same:
            raise Refused(409, "replayed", f"Your last letter had number {number}.")
        self.last[site] = payload["number"], letter.digest
        return site

    def _exchange(self, letter, payload):
        site = self._site(letter, payload)
        if payload["upload"] is not None:
            head = read_head(payload["upload"].encode(), UploadHead)
            assert head.terms == self.terms
            assert head.site == site
            data = payload["upload"].encode()
            if self.uploads.get(site) != data:
                self.round += 1
                self.applied.append((site, head.sequence, sha256(data).hexdigest()))
            self.uploads[site] = data
        own = self.uploads.get(site)
        accepted = None if own is None else read_head(own, UploadHead).sequence
        facts = {"accepted": accepted, "num_uploads": len(self.uploads)}
        if len(self.uploads) < self.min_sites:
            reason = f"{len(self.uploads)} uploads are there; {self.min_sites} needed."
            return facts | {"packet": None, "reason": reason}
        done = exchange(
            self.server, self.uploads, t=max(self.round, 1), seed=0, terms=self.terms
        )
        packet = done.packets.get(site)
        return facts | {
            "packet": None if packet is None else packet.decode(),
            "reason": "nothing for you" if packet is None else None,
        }

    def _leave(self, letter, payload):
        site = self._site(letter, payload)
        if payload["forget"]:
            self.uploads.pop(site, None)
        del self.keys[site]
        return {"left": True}

    def turn(self, folder):
        """Answer what is in a folder, once."""
        count = 0
        for question in sorted(Path(folder).glob("in/**/*.letter")):
            place = question.relative_to(Path(folder) / "in")
            status, data, payload = self.answer(question.read_bytes())
            if status != 200:
                data = seal(payload, self.key)
            out = Path(folder) / "out" / place
            out.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(out, data)
            question.unlink()
            count += 1
        return count


@contextmanager
def serving(answerer, *, context=None, port=0):
    """Serve over HTTP on loopback; yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, data, payload = answerer.answer(body)
            if self.path.endswith("/join"):
                assert self.path == "/api/v1/join"
            elif payload["site"] is not None:
                purpose = read_letter(body).purpose
                assert self.path == f"/api/v1/federations/reaction/{purpose}"
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    scheme = "http"
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        scheme = "https"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"{scheme}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def measure(agent, values):
    """Return a smooth value of order one."""
    x = agent.space.to_unit(values)
    return float(-((x - 0.4) ** 2).sum())


def tell_some(file, count):
    """Ask and tell a few trials of an agent's file."""
    from guidefbo import Agent

    asked = []
    with Agent.update(file) as agent:
        for _ in range(count):
            trial = agent.ask()
            asked.append(dict(trial.values))
            agent.tell(trial, measure(agent, trial.values))
    return asked
