"""Pictures are small, and look as they were drawn."""

from io import BytesIO

import numpy as np
import pytest

from guidefbo.canvas import new_figure
from guidefbo.canvas.file import picture_bytes

Image = pytest.importorskip("PIL.Image")


def drawn(panels=6):
    figure = new_figure(None, 9.0, 6.0)
    x = np.linspace(0.0, 6.0, 200)
    for k, axes in enumerate(figure.subplots(2, panels // 2).flat):
        for j in range(12):
            axes.plot(x, np.sin(x + j) + k)
            axes.fill_between(x, np.sin(x + j), np.cos(x + j), alpha=0.1)
    return figure


def test_a_png_has_few_colours_and_the_same_look():
    figure = drawn()
    plain = BytesIO()
    figure.savefig(plain, dpi=150, format="png")
    small = picture_bytes(figure, "png")
    assert len(small) < 0.5 * len(plain.getvalue())
    before, after = (
        np.asarray(Image.open(BytesIO(data)).convert("RGB")).astype(int)
        for data in (plain.getvalue(), small)
    )
    assert before.shape == after.shape
    assert np.abs(before - after).max() <= 40
    assert np.abs(before - after).mean() < 3.0
    is_white = (before == 255).all(axis=2)
    assert (after[is_white] == 255).all()


def test_equal_figures_give_equal_files():
    for kind in ("png", "svg"):
        assert picture_bytes(drawn(), kind) == picture_bytes(drawn(), kind)
