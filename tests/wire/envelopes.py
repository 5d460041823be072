"""Messages written by hand, as anybody could send them."""

import json


def envelope(body, kind, **changes):
    """Return a message of an example's site as JSON values, some of them changed."""
    return {
        "format": "guidefbo-message",
        "version": 2,
        "kind": kind,
        "federation": "example",
        "space": "example",
        "strategy": "example",
        "strategy_version": 1,
        "site": "north",
        "sequence": 1,
        "body": body,
        **changes,
    }


def message(body, kind, **changes):
    """Return a message as bytes, whatever is in it."""
    return json.dumps(envelope(body, kind, **changes)).encode()


def framed(kind, body):
    """Return the exact bytes of a message whose body is given as bytes."""
    return (
        b'{"format":"guidefbo-message","version":2,"kind":"%s",'
        b'"federation":"example","space":"example","strategy":"example",'
        b'"strategy_version":1,"site":"north","sequence":1,"body":%s}'
    ) % (kind.encode(), body)
