"""The same messages through the message store of Flower's engine, in one process.

    python benchmarks/coordinator_flower.py MESSAGES.json STATE.db

Run by coordinator.py with an interpreter that has flwr 1.41 (`--flower PYTHON`). An
exchange is what Flower needs for it: the server's message to a node is stored, the node
takes it, its reply is stored, the server takes the reply. The state is the SQLite file
that a SuperLink keeps with `--database`. There is no network, no process for each
message and no waiting between polls, which a deployment of Flower has on top; so this
is the least that an exchange can cost there.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
os.environ["FLWR_DISABLE_UPDATE_CHECK"] = "1"

SECONDS = 3600.0
"""For which a message is kept."""


def main(messages: Path, database: str) -> None:
    """Exchange all messages, and print how long each exchange took."""
    import flwr
    from flwr.app import ConfigRecord, Message, RecordDict
    from flwr.server.superlink.linkstate.linkstate_factory import LinkStateFactory
    from flwr.supercore.constant import NOOP_FEDERATION_ID, TaskType
    from flwr.supercore.object_store import ObjectStoreFactory
    from flwr.supercore.task_identity import TaskIdentity
    from flwr.superlink.federation import NoOpFederationManager

    exchanges: list[tuple[int, str, str]] = json.loads(messages.read_text())
    state: Any = LinkStateFactory(
        database, NoOpFederationManager(), ObjectStoreFactory(database)
    ).state()
    num_nodes = 1 + max(node for node, _, _ in exchanges)
    nodes = [
        state.create_node("owner", "owner", os.urandom(32), 60.0)
        for _ in range(num_nodes)
    ]
    for node in nodes:
        state.activate_node(node, 60.0)
    kind = TaskType.SERVER_APP
    run = state.create_run(
        None, None, "0" * 64, {}, NOOP_FEDERATION_ID, None, None, kind
    )

    # Messages are made in the name of the process: the server's.
    TaskIdentity.run_id, TaskIdentity.node_id = run, state.get_node_id()
    TaskIdentity.task_id = 0

    def said(text: str) -> Any:
        return RecordDict({"guidefbo": ConfigRecord({"text": text})})

    def named(message: Any) -> Any:
        message.metadata.__dict__["_message_id"] = str(uuid4())
        return message

    latencies: list[float] = []
    spent = time.process_time()
    for node, upload, packet in exchanges:
        began = time.perf_counter()
        down = named(Message(said(packet), nodes[node], "query.guide", ttl=SECONDS))
        sent = state.store_message_ins(down)
        (taken,) = state.get_message_ins(node_id=nodes[node], limit=1)
        up = named(Message(said(upload), reply_to=taken))
        if sent is None or state.store_message_res(up) is None:
            raise RuntimeError("Flower's store has refused a message.")
        (reply,) = state.get_message_res({sent}, run)
        state.delete_messages({sent})
        if reply.content["guidefbo"]["text"] != upload:
            raise RuntimeError("Another upload came back.")
        latencies.append(time.perf_counter() - began)
    found = {
        "version": flwr.__version__,
        "latencies": latencies,
        "processor": time.process_time() - spent,
    }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
