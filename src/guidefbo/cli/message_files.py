"""`guidefbo upload`, `receive` and `merge`: what sites tell each other, as files."""

from collections.abc import Callable
from pathlib import Path

from guidefbo.cli.opened import changing, check_output, read_bytes, refuse_agent
from guidefbo.core.errors import SettingsError
from guidefbo.core.files import OutputError, write_atomically
from guidefbo.core.settings import parse_settings
from guidefbo.methods.registry import find_method, load_installed
from guidefbo.server.exchange import merge
from guidefbo.server.registry import server_names
from guidefbo.site.agent import Agent
from guidefbo.site.guidance import Guidance
from guidefbo.wire.cost import Cost
from guidefbo.wire.envelope import MAX_BYTES


def write_upload(file: Path, out: Path) -> str | None:
    """Write an agent's message and say its size; None where there is none."""
    check_output(out, file)
    refuse_agent(out)
    agent = Agent.load(file)
    message = agent.upload()
    if message is None:
        return None
    data = message.to_bytes()
    write_atomically(out, data)
    cost = Cost.of(data)
    return (
        f"wrote {out}: {cost.num_bytes} bytes, {cost.scalars} scalars (goal "
        f"{agent.goal}), no observed value among them"
    )


def receive_packet(file: Path, packet: Path, wait: float) -> tuple[str, Guidance]:
    """Hand a packet over; return the goal and what became of the packet."""
    data = read_bytes(packet, MAX_BYTES)
    with changing(file, wait) as agent:
        guidance = agent.receive(data)
    return agent.goal, guidance


def merge_files(
    uploads: list[Path],
    out_dir: Path,
    *,
    method: str | None,
    t: int,
    seed: int | None,
    pairs: list[str],
    say: Callable[[str], object],
) -> bool:
    """Answer uploads with packets, one file each; return whether all were answered.

    None is written after an error.
    """
    outs = _outputs(uploads, out_dir)
    # Strategies of installed packages have servers too.
    load_installed()
    if method is not None and method not in server_names():
        # The server knows no rules: a name that is no method's is refused here.
        find_method(method)
    # The order of the file names is the order of the sites.
    paths = {path.name: path for path in uploads}
    packets = merge(
        {name: read_bytes(path, MAX_BYTES) for name, path in paths.items()},
        method=method,
        t=t,
        seed=seed,
        settings=parse_settings(pairs),
    )
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"Cannot create {out_dir}: {error.strerror}.") from error
    for out in outs.values():
        check_output(out, *uploads)
        refuse_agent(out)
    for name in paths.keys() - packets.keys():
        # What an earlier exchange left there would be taken for this one's.
        outs[paths[name]].unlink(missing_ok=True)
    for name, data in packets.items():
        out = outs[paths[name]]
        write_atomically(out, data)
        cost = Cost.of(data)
        say(f"wrote {out}: {cost.num_bytes} bytes, {cost.scalars} scalars")
    return len(packets) == len(uploads)


def _outputs(uploads: list[Path], out_dir: Path) -> dict[Path, Path]:
    """Return where each packet goes, or refuse two that would go to one place."""
    outs: dict[Path, Path] = {}
    for path in uploads:
        out = out_dir / f"{path.stem}.packet.json"
        twins = [other for other, taken in outs.items() if taken == out]
        if twins or path in outs:
            raise SettingsError(
                f"{path} and {(twins or [path])[0]} would both be answered in {out}. "
                "Give every upload a name of its own."
            )
        outs[path] = out
    return outs
