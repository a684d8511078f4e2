"""The selection problems are NP-hard [cubes, Theorems 3.2.4 and 3.3.2]: the reductions, on whole small instances.

BOUND MAX and PUBLISH MOST: the thesis reduces vertex cover to them, and its proof fails: three edges that share no
vertex do as well as three that do, and then the least noise tells how many edges there are. Whether equal shares are
hard to choose stands open here. GENERAL BOUND MAX and GENERAL PUBLISH MOST, which the thesis calls "similar", are
reduced from another problem: can the edges of a graph be parted into triangles [Holyer 1981]? Dimensions of 3 values
are edges; the edges and the triangles are published. By Lemma 3.3.5 sources cost Σ√magnification. A source of D
dimensions costs 3^((D−3)/2) where it serves triangles, of which it has at most D(D−1)/6 as no two share two edges, and
3^((D−1)/2) where it serves edges as well. That is at least 1 for each triangle and 2/3 for each edge, and no more than
that only for a triangle alone, at 1, or with its three edges, at 3. So all cost (triangles) + 2/3·(edges) if the edges
can be parted into triangles, and more if not.
"""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

DIAMOND = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3))
K4 = (*DIAMOND, (2, 3))


def vertices_of(edges):
    return sorted(set(itertools.chain(*edges)))


def smallest_vertex_cover(edges):
    vertices = vertices_of(edges)
    return next(
        size
        for size in range(len(vertices) + 1)
        for chosen in itertools.combinations(vertices, size)
        if all(set(edge) & set(chosen) for edge in edges)
    )


def cuboids_of_graph(edges):
    """The thesis's instance: the size of every dimension, and the cuboids that are published, (i) to (v)."""
    vertices = vertices_of(edges)
    sizes = {("A", edge): 2 for edge in edges} | {("B", i): 2 for i in range(3 * len(vertices))}
    published = [frozenset({dimension}) for dimension in sizes]
    for vertex in vertices:
        own = [("A", edge) for edge in edges if vertex in edge]
        own += [("spare", vertex, place) for place in range(3 - len(own))]
        other = [("B", 3 * vertices.index(vertex) + i) for i in range(3)]
        for dimensions, fourth in ((own, ("D", vertex)), (other, ("E", vertex))):
            sizes |= dict.fromkeys(dimensions, 2) | {fourth: 4}
            published += [frozenset(dimensions), frozenset({*dimensions, fourth})]
    return sizes, published


def cheapest(sets, costs, many):
    """The least cost of sets that contain all places, exactly: an integer program."""
    member = np.array([[place in one for one in sets] for place in range(many)], float)
    solved = milp(costs, constraints=LinearConstraint(member, 1), integrality=np.ones(len(sets)), bounds=Bounds(0, 1))
    assert solved.status == 0
    return solved.fun


def most_noise(sizes, published, sources):
    """noise(L_pre)·ε²: 2|L_pre|² times the largest magnification; inf where something is not computed."""
    magnifications = [
        min(
            (math.prod(sizes[dimension] for dimension in source - cuboid) for source in sources if cuboid <= source),
            default=math.inf,
        )
        for cuboid in published
    ]
    return 2 * len(sources) ** 2 * max(magnifications)


def by_cover(published, chosen):
    """The thesis's sources for some vertices: all of four dimensions, those of three beside the graph, and theirs."""
    return [
        cuboid
        for cuboid in published
        if len(cuboid) == 4
        or (len(cuboid) == 3 and all(kind == "B" for kind, *_ in cuboid))
        or (len(cuboid) == 3 and any(cuboid | {("D", vertex)} in published for vertex in chosen))
    ]


@pytest.mark.parametrize("edges", [DIAMOND, K4])
def test_a_vertex_cover_is_a_choice_of_sources(edges):
    # cubes, Theorem 3.2.4, the first direction.
    many, size = len(vertices_of(edges)), smallest_vertex_cover(edges)
    sizes, published = cuboids_of_graph(edges)
    for chosen in itertools.combinations(vertices_of(edges), size):
        noise = most_noise(sizes, published, by_cover(published, chosen))
        assert (noise <= 8 * (3 * many + size) ** 2) == all(set(edge) & set(chosen) for edge in edges)


def test_the_printed_proof_takes_any_three_edges_for_a_vertex():
    # cubes, Theorem 3.2.4, case 3: "we will not choose any 3-dim cuboid other than the ones in (iii) and (iv)". But
    # cuboids of any three edges serve these as well, so that six edges take two, whatever the graph.
    sizes, published = cuboids_of_graph(K4)
    triples = [frozenset(("A", edge) for edge in half) for half in (K4[:3], K4[3:])]
    assert most_noise(sizes, published, [*by_cover(published, ()), *triples]) == 8 * (3 * 4 + 2) ** 2
    assert smallest_vertex_cover(K4) == 3


def triangles_of(edges):
    known = {frozenset(edge) for edge in edges}
    return [
        frozenset(sides)
        for corners in itertools.combinations(vertices_of(edges), 3)
        if known >= (sides := {frozenset(pair) for pair in itertools.combinations(corners, 2)})
    ]


def can_be_parted(edges):
    """Whether some triangles have every edge exactly once: by trying all."""
    triangles = triangles_of(edges)
    return len(edges) % 3 == 0 and any(
        len(frozenset().union(*chosen)) == len(edges) for chosen in itertools.combinations(triangles, len(edges) // 3)
    )


BOWTIE = ((0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (2, 4))
PRISM = ((0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (0, 3), (1, 4), (2, 5))
FAN = ((0, 1), (1, 2), (0, 2), (2, 3), (0, 3), (3, 4), (0, 4), (4, 5), (0, 5))
CHAIN = ((0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (2, 4), (4, 5), (5, 6), (4, 6))
SUN = ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (1, 4), (2, 4), (0, 5), (2, 5))


@pytest.mark.parametrize("edges", [((0, 1), (1, 2), (0, 2)), K4, BOWTIE, PRISM, FAN, CHAIN, SUN])
def test_general_bound_max_decides_whether_edges_can_be_parted_into_triangles(edges):
    # cubes, Theorem 3.3.2, by Lemma 3.3.5: the least max noise is 2·(least Σ√mag)²/ε².
    sides = [frozenset(edge) for edge in edges]
    triangles = triangles_of(edges)
    published = [frozenset({side}) for side in sides] + triangles
    sets, costs = [], []
    for many in range(1, len(sides) + 1):
        for source in itertools.combinations(sides, many):
            rows = [(3 ** (many - len(one)), place) for place, one in enumerate(published) if one <= set(source)]
            for worst in {magnification for magnification, _ in rows}:
                sets.append(frozenset(place for magnification, place in rows if magnification <= worst))
                costs.append(math.sqrt(worst))
    least, wanted = cheapest(sets, np.array(costs), len(published)), len(triangles) + 2 / 3 * len(edges)
    assert least > wanted - 1e-6
    assert (least < wanted + 1e-6) == can_be_parted(edges)


def test_no_source_is_cheaper_than_what_it_serves():
    for dimensions in range(1, 60):
        triangles = dimensions * (dimensions - 1) // 6 if dimensions >= 3 else 0
        triangles = min(triangles, math.comb(dimensions, 3), 1 if dimensions == 4 else triangles)
        alone, together = 3 ** ((dimensions - 3) / 2), 3 ** ((dimensions - 1) / 2)
        assert triangles <= alone
        assert triangles + 2 / 3 * dimensions <= together
        assert (triangles + 2 / 3 * dimensions == together) == (dimensions == 3)
