"""Shape: what objectives look like in the large, pooled over sites."""

from guidefbo.agent.strategies.shape.liars import ShapeLiarSettings
from guidefbo.agent.strategies.shape.settings import ShapeSettings
from guidefbo.methods.record import Strategy
from guidefbo.server.strategies.shape.hostile import ShapeHostileSettings
from guidefbo.server.strategies.shape.settings import ShapeServerSettings
from guidefbo.wire.shape import ShapePacket, ShapeUpload

STRATEGY = Strategy(
    name="shape",
    text="coefficients of the own trend up, a prior of them from the others down",
    agent=ShapeSettings,
    server=ShapeServerSettings,
    messages=(ShapeUpload, ShapePacket),
    alone={"trust": "own"},
    liars=ShapeLiarSettings,
    hostile=ShapeHostileSettings,
    seconds=12.0,
)
