"""Control strategy: GUIDE's intervention without messages.

The component is fixed at the centre of the box.
"""

from guidefbo.agent.strategies.placebo.settings import PlaceboSettings
from guidefbo.methods.record import Strategy

STRATEGY = Strategy(
    name="placebo",
    text="the control: guidance in the middle of the box that nobody sent",
    agent=PlaceboSettings,
    is_control=True,
    seconds=5.5,
    colour="purple",
)
