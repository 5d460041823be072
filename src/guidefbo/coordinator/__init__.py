"""The coordinator: keeps the newest upload of every site and answers with packets.

A store (SQLite or PostgreSQL), one function `answer` that opens a signed letter and
answers it, and two doors to that function: an HTTP service and a shared folder. Nothing
here can read an observation: no module of the private side is loaded.
"""

import logging

# Where nobody asked for the log, its bare events are not printed either.
logging.getLogger(__name__).addHandler(logging.NullHandler())
