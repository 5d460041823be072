"""What of an agent needs its method: the policy, the model and the packet it holds.

An agent makes this when it is first used. Whoever only writes a result down does
without, and loads neither the model nor SciPy.
"""

from dataclasses import replace
from typing import Any

from guidefbo.core.arrays import Point
from guidefbo.core.threads import single_blas_thread
from guidefbo.site.book import Book
from guidefbo.site.choosing import Chosen, basis_of, next_point
from guidefbo.site.exchange import doubted, in_use, take, upload_of
from guidefbo.site.guidance import Guidance
from guidefbo.site.learner import Learner
from guidefbo.site.setup import Setup
from guidefbo.site.summary import Summary
from guidefbo.site.summing_up import carried_over, sum_up
from guidefbo.site.trial import Basis
from guidefbo.wire.envelope import Upload


class Workings:
    """The method of one agent, built."""

    def __init__(self, setup: Setup, book: Book, guidance: Guidance | None) -> None:
        """Build the method.

        Args:
            setup: Space, goal, method, seed.
            book: All trials.
            guidance: What is held of the other sites; None: nothing.
        """
        self._setup = setup
        self._book = book
        self.policy = setup.policy()
        self.learner = Learner(self.policy, book, setup.outcomes)
        self.guidance = Guidance() if guidance is None else guidance

    @property
    def in_use(self) -> Guidance:
        """What is held, and whether it is used; nothing is computed."""
        return in_use(self.guidance, self._setup, self._book)

    @property
    def judged(self) -> Guidance:
        """The same, and whether the own data speak for it: the model is fitted."""
        held = self.in_use
        held = replace(held, judgement=self.learner.judgement(held))
        return doubted(held, self._setup, self._book)

    def summary(self, former: Summary, *, fits: bool) -> Summary:
        """Return what the model says of the data and of the others.

        Args:
            former: What it said when it was last fitted.
            fits: Whether it is fitted for this, where it has not been.
        """
        if fits or self.learner.is_fitted:
            return sum_up(self._setup, self._book, self.learner, self.judged)
        return carried_over(former, self._setup, self.in_use)

    def next_point(self) -> Chosen:
        """Return the next question."""
        return next_point(
            self._setup, self.policy, self._book, self.learner, self.in_use
        )

    def basis_at(self, x: Point) -> Basis | None:
        """Return what is expected at a point that somebody else chose.

        None where models are not compared: nothing is fitted for it then.
        """
        held = self.judged
        if held.judgement is None:
            return None
        with single_blas_thread():
            return basis_of(self._setup, self._book, self.learner, held, x)

    def upload(self) -> Upload | None:
        """Return what is told to the others, None where there is nothing to tell."""
        return upload_of(
            self._setup, self.policy, self._book, self.learner, self.guidance
        )

    def receive(self, packet: Any) -> Guidance:
        """Take a packet, None where none came, and return what is held now."""
        if packet is not None:
            self.guidance = take(
                packet, self.guidance, self._setup, self.policy, self._book
            )
        return self.in_use
