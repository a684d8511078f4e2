"""Lattice: which cuboids of a cube were measured, with how much noise, and how exact each is that was made of them."""

from urllib.parse import quote, urlencode

from fastapi.responses import Response

from discreet.server.console.lattice_drawing import CONFIDENCE, MOST_LISTED, draw_lattice
from discreet.server.console.page import BY
from discreet.server.console.visit import Visit


def show(visit: Visit) -> Response:
    name, cube = visit.cube()
    drawing = draw_lattice(cube.plan, cube.consistent)
    links = {
        node.mask: f"/cube/{quote(name)}?{urlencode({f'd.{dimension}': BY for dimension in node.names})}"
        for node in drawing.nodes
    }
    return visit.page(
        "lattice.html",
        drawing=drawing,
        listed=sorted(drawing.nodes, key=lambda node: (len(node.names), node.mask))[:MOST_LISTED],
        hidden=max(len(drawing.nodes) - MOST_LISTED, 0),
        links=links,
        cube_name=name,
        cubes=visit.shelf.cubes(),
        plan=cube.plan,
        about=cube.describe(),
        confidence=CONFIDENCE,
    )
