"""What of an agent needs its method: the policy, the model and the packet it holds.

An agent makes this when it is first used. Whoever only writes a result down does
without, and loads neither the model nor SciPy.
"""

from guidefbo.site.book import Book
from guidefbo.site.guidance import Guidance
from guidefbo.site.learner import Learner
from guidefbo.site.setup import Setup


class Workings:
    """The method of one agent, built."""

    def __init__(self, setup: Setup, book: Book, guidance: Guidance | None) -> None:
        """Build the method.

        Args:
            setup: Space, goal, method, seed.
            book: All trials.
            guidance: What is held of the other sites; None: nothing.
        """
        self.policy = setup.policy()
        self.learner = Learner(self.policy, book, setup.outcomes)
        self.guidance = Guidance() if guidance is None else guidance
