"""Shape: what objectives look like in the large, pooled over sites."""

from guidefbo.agent.strategies.shape.liars import ShapeLiarSettings
from guidefbo.agent.strategies.shape.settings import ShapeSettings
from guidefbo.methods.record import Strategy
from guidefbo.methods.words import shape_place, shape_words
from guidefbo.server.strategies.shape.hostile import ShapeHostileSettings
from guidefbo.server.strategies.shape.settings import ShapeServerSettings
from guidefbo.wire.shape import ShapePacket, ShapeUpload

STRATEGY = Strategy(
    name="shape",
    text="the own trend and place of the optimum up, what to expect of them down",
    agent=ShapeSettings,
    server=ShapeServerSettings,
    messages=(ShapeUpload, ShapePacket),
    words=(shape_words, shape_words),
    place=shape_place,
    version=2,
    alone={"trust": "own"},
    liars=ShapeLiarSettings,
    hostile=ShapeHostileSettings,
    seconds=10.0,
)
