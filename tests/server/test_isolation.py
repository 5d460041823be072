"""A coordinator runs without any code of the private side."""

import subprocess
import sys

import numpy as np
import pytest

from guidefbo import merge
from guidefbo.server.registry import server_names
from guidefbo.wire.envelope import Envelope, Terms, UploadHead
from guidefbo.wire.guide import OptimumUpload

PRIVATE = ("agent", "site", "methods", "problems")
"""Packages of which a coordinator has nothing."""

OFFENDERS = f"""
import sys
private = {PRIVATE!r}
offenders = [
    name
    for name in sorted(sys.modules)
    if name.startswith("guidefbo.") and name.split(".")[1] in private
]
print("loaded:", *offenders)
print("shared:", sum(name.startswith("guidefbo.server") for name in sys.modules))
"""


def run(program, *arguments):
    """Run a program in a fresh process and return what it says."""
    result = subprocess.run(
        [sys.executable, "-c", program + OFFENDERS, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def check_isolated(said):
    *_, loaded, shared = said
    offenders = loaded.split()[1:]
    assert not offenders, f"Private modules were loaded: {', '.join(offenders)}."
    # The server itself was: what is counted is really there to be seen.
    assert int(shared.split()[1]) > 3


BUILD_ALL = """
from guidefbo.server.exchange import build_server
from guidefbo.server.registry import server_names

for name in server_names():
    server = build_server(name, {})
    print(name, server.upload_type.KIND, server.packet_type.KIND)
"""


def test_every_server_is_built_without_private_code():
    said = run(BUILD_ALL)
    check_isolated(said)
    built = [line.split()[0] for line in said[:-2]]
    assert len(built) >= 9
    assert set(built) <= set(server_names())


MERGE = """
import sys
import guidefbo as gf

uploads = {
    path.rpartition("/")[2]: open(path, "rb").read()
    for path in sys.argv[1:]
}
packets = gf.merge(uploads, seed=3)
for name, data in packets.items():
    print(name, len(data), data.decode())
"""


def test_uploads_are_merged_without_private_code(tmp_path):
    terms = Terms(federation="trial", space="abc", strategy="guide")
    paths, uploads = [], {}
    for n, site in enumerate(("north", "south", "west")):
        body = OptimumUpload(
            mass=0.5,
            center=np.full(2, 0.2 + 0.3 * n),
            variance=np.full(2, 0.01),
            value_score=0.1 * n,
        )
        head = UploadHead(terms=terms, site=site, sequence=n)
        uploads[site] = Envelope(head=head, body=body).to_bytes()
        (tmp_path / site).write_bytes(uploads[site])
        paths.append(str(tmp_path / site))
    said = run(MERGE, *paths)
    check_isolated(said)
    found = {line.split()[0]: line.split(maxsplit=2)[2] for line in said[:-2]}
    # And the packets are those of a process that has loaded everything.
    expected = merge(uploads, seed=3)
    assert {name: text.encode() for name, text in found.items()} == expected


@pytest.mark.parametrize("package", PRIVATE)
def test_private_code_would_be_seen(package):
    said = run(f"import guidefbo.{package}\nimport guidefbo.server.exchange")
    assert f"guidefbo.{package}" in said[-2].split()
    with pytest.raises(AssertionError, match=f"loaded: .*guidefbo.{package}"):
        check_isolated(said)
