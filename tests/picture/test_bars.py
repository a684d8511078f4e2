"""Pictures of cuboids: every count with its error, labels that can be read, a form that suits the size."""

import numpy as np
import pytest
from matplotlib.container import BarContainer

from discreet.errors import PictureError
from discreet.picture.bars import COLOURS, MOST_BARS, cuboid_picture
from discreet.picture.save import save_picture


def dimension(name: str, size: int) -> tuple[str, list[str]]:
    return name, [f"{name} {value}" for value in range(size)]


def bars_of(figure) -> list[BarContainer]:
    return [container for container in figure.axes[0].containers if isinstance(container, BarContainer)]


def test_one_dimension_is_a_bar_a_value_with_its_error():
    values = np.array([5.0, -2.0, 9.0])
    figure = cuboid_picture(values, [dimension("region", 3)], 1.5, "people by region", "note")
    [bars] = bars_of(figure)
    assert [bar.get_width() for bar in bars] == values.tolist()
    [segments] = [collection.get_segments() for collection in bars.errorbar.lines[2]]
    assert [(low[0], high[0]) for low, high in segments] == [(3.5, 6.5), (-3.5, -0.5), (7.5, 10.5)]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["region 0", "region 1", "region 2"]


@pytest.mark.parametrize("shape", [(3, 2), (2, 3)])
def test_of_two_dimensions_the_one_with_fewer_values_gives_the_colours(shape):
    values = np.arange(6.0).reshape(shape)
    figure = cuboid_picture(values, [dimension("a", shape[0]), dimension("b", shape[1])], 1, "title", "note")
    few, many = ("b", 3) if shape == (3, 2) else ("a", 3)
    assert len(bars_of(figure)) == 2
    assert all(len(bars) == many for bars in bars_of(figure))
    assert figure.legends[0].get_title().get_text() == few


@pytest.mark.parametrize("shape", [(MOST_BARS, 2), (len(COLOURS) + 1, len(COLOURS) + 1)])
def test_too_many_bars_become_a_heat_map(shape):
    figure = cuboid_picture(np.ones(shape), [dimension("a", shape[0]), dimension("b", shape[1])], 12, "title", "note")
    assert bars_of(figure) == []
    assert len(figure.axes[0].images) == 1
    assert "±12" in figure.axes[1].get_ylabel()


def test_a_dimension_of_many_values_becomes_a_line_with_a_band():
    ages = ("age", [str(age) for age in range(100)])
    figure = cuboid_picture(np.linspace(0, 500, 100), [ages], 20, "people by age", "note")
    assert len(figure.axes[0].lines) == 1
    assert len(figure.axes[0].collections) == 1
    shown = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert shown == [str(age) for age in range(0, 100, 10)]


@pytest.mark.parametrize("shape", [(), (2, 3, 4)])
def test_other_cuboids_cannot_be_drawn(shape):
    dimensions = [dimension(f"d{place}", size) for place, size in enumerate(shape)]
    with pytest.raises(PictureError, match="one or two dimensions"):
        cuboid_picture(np.ones(shape), dimensions, 1, "title", "note")


def test_a_picture_can_be_saved(tmp_path):
    figure = cuboid_picture(np.ones((2, 2)), [dimension("a", 2), dimension("b", 2)], 1, "title", "note")
    for name in ("picture.png", "picture.svg", "picture.pdf"):
        save_picture(figure, tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000
