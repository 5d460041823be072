"""Contract suites for strategies, rules, posteriors and messages, of any author.

Each suite is a plain function that raises `AssertionError` with a sentence:

    from guidefbo.testing import check_rule

    def test_my_rule():
        check_rule(MyRule())

`guidefbo.testing.generators` holds Hypothesis strategies for the wire messages.
"""

from guidefbo.testing.agent_side import check_agent_side
from guidefbo.testing.codec import check_codec
from guidefbo.testing.examples import example_posterior
from guidefbo.testing.posterior import check_posterior
from guidefbo.testing.rule import check_rule
from guidefbo.testing.server_side import check_server_side

__all__ = [
    "check_agent_side",
    "check_codec",
    "check_posterior",
    "check_rule",
    "check_server_side",
    "example_posterior",
]
