"""Leaving a federation: when the coordinator's word is enough, and what is known then.

A site leaves where the coordinator confirms it, or says in a signed refusal that it
takes nothing of the site any more. A refusal over HTTP is not signed: anybody on the
way could have said it, so that somebody at the site has to decide.
"""

import shlex
from dataclasses import dataclass

from guidefbo.connect.errors import RefusedError
from guidefbo.connect.link_file import LinkFile
from guidefbo.connect.move import courier_of
from guidefbo.connect.places import Places
from guidefbo.core.errors import FedBOError
from guidefbo.core.files import OutputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """How a site has left a federation."""

    site: str
    """Its name there."""
    federation: str
    """The federation."""
    is_confirmed: bool
    """Whether the coordinator has confirmed it, or takes nothing of the site."""
    is_forgotten: bool | None
    """Whether the coordinator has removed this site's uploads now; None: it was asked
    to, and has not said."""
    trouble: str | None = None
    """What came instead of a confirmation."""

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Return it in sentences."""
        left = f"{self.site} has left the federation {self.federation}"
        if self.is_forgotten:
            return [f"{left}; your upload there was removed"]
        if not self.is_confirmed:
            left = f"{left}; the coordinator has not confirmed it: {self.trouble}"
        elif self.trouble is not None:
            left = f"{left}, which takes nothing of it any more: {self.trouble}"
        what = "your upload there was not removed by this command"
        if self.is_forgotten is None:
            what = "whether your upload there was removed is not known"
        return [
            left,
            f"{what}; the host can remove it: guidefbo federation revoke "
            f"{self.federation} {self.site} --forget",
        ]


def tell_leaving(
    places: Places, facts: LinkFile, *, patience: float, forget: bool, anyway: bool
) -> Left | None:
    """Tell the coordinator; return how the site leaves, None where it does not yet.

    Args:
        places: The files of the link; whoever calls holds the mailbox.
        facts: Who the site is, and where.
        patience: Seconds to wait for an answer in a folder.
        forget: Whether the coordinator is to remove this site's uploads.
        anyway: Whether the site leaves whatever the coordinator says to it.
    """

    def left(
        trouble: str | None, *, is_confirmed: bool, is_forgotten: bool | None
    ) -> Left:
        return Left(
            site=facts.site,
            federation=facts.federation,
            is_confirmed=is_confirmed,
            is_forgotten=is_forgotten,
            trouble=trouble,
        )

    unknown = None if forget else False
    try:
        answer = courier_of(places, patience).tell("leave", forget=forget)
    except OutputError:
        raise  # nothing leaves before it is written down here
    except FedBOError as error:
        if isinstance(error, RefusedError) and error.ends_membership:
            return left(str(error), is_confirmed=True, is_forgotten=False)
        if anyway:
            return left(str(error), is_confirmed=False, is_forgotten=unknown)
        if isinstance(error, RefusedError) and not error.is_passing:
            raise _with_a_way(error, places) from error
        raise
    if answer is not None:
        return left(None, is_confirmed=True, is_forgotten=forget)
    if not anyway:
        return None
    trouble = f"the letter is in {facts.where}, and its answer has not come yet."
    return left(trouble, is_confirmed=False, is_forgotten=unknown)


def _with_a_way(error: RefusedError, places: Places) -> RefusedError:
    """Return a refusal that says how to leave all the same."""
    why = "" if error.is_signed else " This refusal is not signed, as none is by HTTP."
    return RefusedError(
        error.code,
        f"{error.sentence}{why} This site has not left. If the host says the same, or "
        "to leave without a confirmation: guidefbo leave "
        f"{shlex.quote(str(places.file))} --anyway, in Python leave(anyway=True).",
        retry_after=error.retry_after,
        is_signed=error.is_signed,
    )
