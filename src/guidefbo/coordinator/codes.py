"""Invitation codes and readers' tokens: drawn by the system, stored as digests.

Both are drawn, not chosen, and long (80 and 256 bits), so that a plain digest cannot be
turned back by trying.
"""

import secrets
from hashlib import sha256
from hmac import compare_digest

SIGNS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""32 signs that nobody mistakes for each other."""
NUM_SIGNS = 16
ALIKE = str.maketrans({"O": "0", "I": "1", "L": "1", "-": None, " ": None})
"""How a code may be typed."""


def make_code() -> str:
    """Return a new invitation code, in groups of four."""
    signs = "".join(secrets.choice(SIGNS) for _ in range(NUM_SIGNS))
    return "-".join(signs[i : i + 4] for i in range(0, NUM_SIGNS, 4))


def make_token() -> str:
    """Return a new token of a reader."""
    return secrets.token_urlsafe(32)


def hash_code(code: str) -> str:
    """Return the digest a code is stored as, however it was typed.

    >>> hash_code("abcd-efgh 1234-5678") == hash_code("ABCDEFGHI2345678")
    True
    """
    return sha256(b"code:" + code.upper().translate(ALIKE).encode()).hexdigest()


def hash_token(token: str) -> str:
    """Return the digest a token is stored as."""
    return sha256(b"token:" + token.encode(errors="replace")).hexdigest()


def is_same(digest: str, other: str) -> bool:
    """Whether two digests are equal, in a time that does not tell how much of them."""
    return compare_digest(digest.encode(), other.encode())
