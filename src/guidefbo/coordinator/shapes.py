"""JSON schemas of the HTTP interface, for its published description."""

from typing import Any

NAME = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"}
NUMBER = {"type": "integer", "minimum": 1, "maximum": 10**12}
KEY = {
    "type": "string",
    "minLength": 44,
    "maxLength": 44,
    "description": "base64 of the 32 bytes of an Ed25519 public key",
}
BASE64 = {"type": "string", "contentEncoding": "base64"}

LETTER: dict[str, Any] = {
    "type": "object",
    "title": "Letter",
    "additionalProperties": False,
    "required": ["format", "version", "payload", "signature"],
    "properties": {
        "format": {"type": "string", "enum": ["guidefbo-letter"]},
        "version": {"type": "integer", "enum": [1]},
        "payload": {
            **BASE64,
            "description": "base64 of the payload's bytes: UTF-8 JSON, an object",
        },
        "signature": {
            **BASE64,
            "description": "base64 of the Ed25519 signature over the bytes "
            "'guidefbo-letter-1', a line feed, and the payload's bytes",
        },
    },
}


def _payload(purpose: str, fields: dict[str, Any], named: bool = True) -> Any:
    who = NAME if named else {"type": "null"}
    common = {
        "purpose": {"type": "string", "enum": [purpose]},
        "federation": who,
        "site": who,
        "number": {
            **NUMBER,
            "description": "larger than that of every letter before; written to disk "
            "before the letter is sent",
        },
    }
    return _object({**common, **fields})


def _answer(fields: dict[str, Any]) -> Any:
    common = {
        "purpose": {"type": "string", "enum": ["answer"]},
        "federation": NAME,
        "site": NAME,
        "number": {**NUMBER, "description": "of the letter that is answered"},
        "answers": {
            "type": "string",
            "description": "SHA-256 of the payload's bytes of that letter, hexadecimal",
        },
        "successions": {
            "type": "array",
            "items": {"type": "string"},
            "description": "changes of the coordinator's key, oldest first: letters "
            "as texts, whose payloads are a SuccessionPayload",
        },
    }
    return _object({**common, **fields})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": properties,
    }


def _or_null(kind: str, text: str) -> dict[str, Any]:
    return {"type": [kind, "null"], "description": text}


PAYLOADS: dict[str, Any] = {
    "JoinPayload": _payload(
        "join",
        {
            "code": {"type": "string", "description": "the invitation's code"},
            "public_key": {**KEY, "description": "the site's; it signs this letter"},
            "space": _or_null(
                "string", "fingerprint of the agent's space, where it has one already"
            ),
        },
        named=False,
    ),
    "JoinAnswer": _answer(
        {
            "terms": _object(
                {
                    "federation": NAME,
                    "space": {"type": "string"},
                    "strategy": NAME,
                    "strategy_version": {"type": "integer"},
                }
            ),
            "space": {"type": "object", "description": "the search space"},
            "goal": {"type": "string", "enum": ["max", "min"]},
            "method": {"type": "string"},
            "settings": {"type": "object"},
            "seed": _or_null("integer", "what all sites must draw alike"),
            "role": {"type": "string", "enum": ["site", "listen-only", "speak-only"]},
            "coordinator_key": {**KEY, "description": "signs all answers"},
            "min_sites": {"type": "integer"},
            "last_number": {**NUMBER, "description": "go on from here"},
        }
    ),
    "ExchangePayload": _payload(
        "exchange",
        {
            "upload": _or_null("string", "the strategy's message, as its JSON text"),
            "held": {
                "type": ["array", "null"],
                "items": {"type": "integer", "minimum": 0},
                "minItems": 2,
                "maxItems": 2,
                "description": "fields answers and round of the packet that is held",
            },
        },
    ),
    "ExchangeAnswer": _answer(
        {
            "accepted": _or_null("integer", "sequence of the newest upload stored"),
            "packet": _or_null("string", "the strategy's message, as its JSON text"),
            "reason": _or_null("string", "why there is no packet"),
            "num_uploads": {"type": "integer"},
        }
    ),
    "LeavePayload": _payload(
        "leave",
        {"forget": {"type": "boolean", "description": "remove the uploads as well"}},
    ),
    "LeaveAnswer": _answer({"left": {"type": "boolean"}}),
    "RotatePayload": _payload(
        "rotate",
        {"public_key": {**KEY, "description": "the new one; the old one signs"}},
    ),
    "RotateAnswer": _answer({"rotated": {"type": "boolean"}}),
    "SuccessionPayload": _payload(
        "succession",
        {
            "former_key": {**KEY, "description": "it signs this letter"},
            "public_key": {**KEY, "description": "it signs answers from then on"},
        },
        named=False,
    ),
}
"""What stands in the payloads of letters."""

REFUSAL = _object({"error": {"type": "string"}, "message": {"type": "string"}})
DESCRIPTION = _object(
    {
        "federation": NAME,
        "strategy": NAME,
        "strategy_version": {"type": "integer"},
        "space": {"type": "string", "description": "fingerprint of the search space"},
        "coordinator_key": KEY,
        "min_sites": {"type": "integer"},
        "is_open": {"type": "boolean"},
    }
)
SITES = _object(
    {
        "federation": NAME,
        "round": {"type": "integer"},
        "num_uploads": {"type": "integer"},
        "sites": {
            "type": "array",
            "items": _object(
                {
                    "name": NAME,
                    "state": {"type": "string", "enum": ["joined", "left", "revoked"]},
                    "role": {"type": "string"},
                    "sequence": _or_null(
                        "integer", "results and corrections behind its upload"
                    ),
                    "num_uploads": {"type": "integer"},
                    "seen": {"type": "string", "format": "date-time"},
                }
            ),
        },
    }
)
HEALTH = _object({"status": {"type": "string"}})
COMPONENTS = {
    "Letter": LETTER,
    "Refusal": REFUSAL,
    "Description": DESCRIPTION,
    "Sites": SITES,
    "Health": HEALTH,
    **PAYLOADS,
}


def reference(name: str) -> dict[str, str]:
    """Return a reference to one of the schemas."""
    return {"$ref": f"#/components/schemas/{name}"}
