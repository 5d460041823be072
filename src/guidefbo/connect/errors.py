"""What can go wrong between a site and its coordinator."""

from guidefbo.core.errors import FedBOError

GONE = ("revoked", "not_a_site", "not_found", "closed")
"""Codes which say that nothing of a site is taken any more. `closed` is said to a site
that leaves by older coordinators alone."""
UNVERIFIED = (
    "That it was the coordinator is not verified, since this site holds no key of it "
    "yet; --coordinator-key, which the host gives, verifies it. Nothing was used up: "
    "the same command asks again."
)
"""What is said of a refusal that anybody could have written."""


class ConnectError(FedBOError):
    """A site and its coordinator do not come together."""


class OfflineError(ConnectError, OSError):
    """The coordinator cannot be reached now; the next attempt may do."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        """Take what is known.

        Args:
            message: Why, in a sentence.
            retry_after: Seconds after which another attempt is welcome, if it says so.
        """
        super().__init__(message)
        self.retry_after = retry_after


class ForeignAnswerError(ConnectError, ValueError):
    """What came back is not the pinned coordinator's answer to this question."""


class LinkError(ConnectError, ValueError):
    """The files of a link are missing, damaged or do not fit each other."""


class RefusedError(ConnectError):
    """The coordinator says no."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        retry_after: float | None = None,
        is_signed: bool = False,
        is_verified: bool = True,
    ) -> None:
        """Take what the coordinator said.

        Args:
            code: Its short name of the reason.
            message: Its sentence.
            retry_after: Seconds after which another attempt is welcome, if it says so.
            is_signed: Whether it is signed with the coordinator's key, for the letter
                that was sent; else anybody on the way could have said it.
            is_verified: Whether it came by a way, or with a signature, that shows who
                said it.
        """
        said = f"The coordinator refused ({code}): {message}"
        super().__init__(said if is_verified else f"{said} {UNVERIFIED}")
        self.code = code
        self.sentence = message
        self.retry_after = retry_after
        self.is_signed = is_signed
        self.is_verified = is_verified

    @property
    def is_passing(self) -> bool:
        """Whether the same letter may be taken later."""
        return self.code == "rate_limited" or not self.is_verified

    @property
    def ends_membership(self) -> bool:
        """Whether the coordinator itself says that it takes nothing of the site."""
        return self.is_signed and self.code in GONE

    @property
    def is_for_the_site(self) -> bool:
        """Whether the site can do something about it and then exchange again."""
        return self.code == "changed"
