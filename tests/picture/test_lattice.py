"""Pictures of the lattice: a dot a cuboid, a ring a source, names while there is room."""

from itertools import combinations

import numpy as np
from matplotlib.collections import LineCollection, PathCollection

from discreet.picture.lattice import Node, lattice_picture
from discreet.picture.save import save_picture


def nodes(dimensions: int) -> list[Node]:
    """All cuboids; those of odd size are measured."""
    return [
        Node(frozenset(places), 10.0 * (1 + count), 0.1 * (1 + count) if count % 2 else None)
        for count in range(dimensions + 1)
        for places in combinations(range(dimensions), count)
    ]


def texts(figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def marks(figure) -> list[PathCollection]:
    """The dots, and the rings around those that are measured."""
    return [collection for collection in figure.axes[0].collections if isinstance(collection, PathCollection)]


def test_a_small_lattice_names_every_cuboid_with_its_error_and_its_share():
    figure = lattice_picture(["sex", "age", "region"], nodes(3), "The cube", "a plan")
    shown = texts(figure)
    assert "total\n±10" in shown
    assert "age\n±20\n20% of the budget" in shown
    assert "sex × region\n±30" in shown
    dots, rings = marks(figure)
    assert len(dots.get_offsets()) == 8
    assert len(rings.get_offsets()) == 4


def test_the_larger_a_share_the_larger_its_ring():
    _, rings = marks(lattice_picture(["a", "b", "c"], nodes(3), "The cube", "a plan"))
    assert rings.get_sizes()[-1] == max(rings.get_sizes()) > min(rings.get_sizes())


def test_levels_go_from_the_total_down_and_are_centred():
    dots, _ = marks(lattice_picture(["a", "b", "c"], nodes(3), "The cube", "a plan"))
    x, y = np.asarray(dots.get_offsets()).T
    assert y.tolist() == [0, -1, -1, -1, -2, -2, -2, -3]
    assert all(abs(x[y == level].sum()) < 1e-9 for level in set(y))


def test_a_large_lattice_is_dots_without_names_or_lines(tmp_path):
    figure = lattice_picture([f"d{place}" for place in range(10)], nodes(10), "The cube", "a plan")
    assert texts(figure) == ["a plan"]
    dots, _ = marks(figure)
    assert len(dots.get_offsets()) == 1024
    assert not [c for c in figure.axes[0].collections if isinstance(c, LineCollection)]
    save_picture(figure, tmp_path / "lattice.png")


def test_a_cube_of_one_error_has_a_picture_too(tmp_path):
    even = [Node(node.places, 7.0, 0.25) for node in nodes(2)]
    figure = lattice_picture(["a", "b"], even, "The cube", "a plan")
    save_picture(figure, tmp_path / "lattice.png")
    dots, rings = marks(figure)
    assert len({tuple(colour) for colour in dots.get_facecolors()}) == 1
    assert len(set(rings.get_sizes())) == 1
    assert (tmp_path / "lattice.png").read_bytes().startswith(b"\x89PNG")
