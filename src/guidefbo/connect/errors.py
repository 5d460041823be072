"""What can go wrong between a site and its coordinator."""

from guidefbo.core.errors import FedBOError


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
        self, code: str, message: str, *, retry_after: float | None = None
    ) -> None:
        """Take what the coordinator said.

        Args:
            code: Its short name of the reason.
            message: Its sentence.
            retry_after: Seconds after which another attempt is welcome, if it says so.
        """
        super().__init__(f"The coordinator refused ({code}): {message}")
        self.code = code
        self.retry_after = retry_after

    @property
    def is_passing(self) -> bool:
        """Whether the same letter may be taken later."""
        return self.code == "rate_limited"

    @property
    def is_for_the_site(self) -> bool:
        """Whether the site can do something about it and then exchange again."""
        return self.code == "changed"
