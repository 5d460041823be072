"""Refusals: what a caller is told instead of an answer."""

from guidefbo.core.errors import FedBOError

STATUSES = {
    "invalid": 400,
    "bad_signature": 401,
    "unauthorised": 401,
    "unknown_code": 403,
    "expired_code": 403,
    "revoked": 403,
    "forbidden": 403,
    "not_a_site": 404,
    "not_found": 404,
    "timeout": 408,
    "replayed": 409,
    "older": 409,
    "changed": 409,
    "full": 409,
    "closed": 410,
    "too_large": 413,
    "foreign": 422,
    "rate_limited": 429,
    "unavailable": 503,
}
"""Status of HTTP by the code of a refusal. Codes never change their meaning."""


class Refusal(FedBOError):
    """A request is refused: a code for programs, a sentence for people."""

    def __init__(self, code: str, sentence: str, retry_after: float | None = None):
        super().__init__(sentence)
        self.code = code
        self.retry_after = retry_after

    @property
    def status(self) -> int:
        """The status of HTTP."""
        return STATUSES[self.code]
