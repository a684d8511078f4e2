"""The native half of the histogram: a binary tree of cuts whose leaves are the buckets.

A node counts the charges that cover its whole box, so that a charge is counted at the highest nodes that it covers, and
in the buckets that its border crosses. A bucket's counter is what it counts itself plus the covers of all nodes above.
The charges that cross a bucket are noted on linked pages, for the day it is split.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.ledger.boxes import Ints, meet, runs
from discreet.native import kernel

COLUMNS = 13
LEFT, PARENT, AXIS, CUT, LOW, HIGH, COVERED, CROSSED, FULLEST, SPLITTABLE, NOTES, NOTED, LAST = range(COLUMNS)
"""Columns of a node.

LEFT: the left child, below CUT on AXIS; the right child is the next row; 0 in a bucket. LOW, HIGH: the node's own codes
on AXIS. COVERED: units of the charges that cover the node, and no node above. CROSSED: units of the charges that cross
a bucket. FULLEST: the largest counter of a bucket at or below the node, without the covers above the node. SPLITTABLE:
the same among the buckets that have notes, or NONE. NOTES, NOTED: the first page of a bucket's notes, and how many they
are. LAST: the last charge that crossed a bucket."""

NONE = -(2**62)
NOTHING, NODES_WANTING, NOTES_WANTING = range(3)

NODES, BUCKETS, MOST_BUCKETS, PAGES, FREE_PAGE, BY_SUM = range(6)
"""What changes in a tree: how many nodes and buckets there are, how many buckets there may be, the pages of notes ever
used, the first free one of them; and whether cuts are chosen by the sum of the two counters."""

PAGE = 15
"""Notes on a page; with the number of the next page they fill a cache line."""


class Tree(NamedTuple):
    """Flat arrays. Charge c is boxes first[c] … first[c+1]−1, disjoint, those with most units first."""

    shape: Ints
    state: Ints
    nodes: Ints
    notes: NDArray[np.int32]
    first: Ints
    lows: Ints
    highs: Ints
    units: Ints
    stack: Ints


@kernel
def _short_sides(shape: Ints, low: Ints, high: Ints) -> int:
    """On how many sides a box stops short of the domain's border. A node is covered when none is left."""
    short = 0
    for axis in range(len(shape)):
        short += int(low[axis] > 0) + int(high[axis] < shape[axis] - 1)
    return short


@kernel
def _push_children(tree: Tree, depth: int, node: int, low: Ints, high: Ints, short: int, above: int) -> int:
    """Put the children that a box meets on the stack, each with its short sides and the covers above it."""
    nodes, stack = tree.nodes, tree.stack
    axis, cut = nodes[node, AXIS], nodes[node, CUT]
    if low[axis] < cut:
        stack[depth, 0], stack[depth, 2] = nodes[node, LEFT], above + nodes[node, COVERED]
        stack[depth, 1] = short - (cut - 1 <= high[axis] < nodes[node, HIGH])
        depth += 1
    if high[axis] >= cut:
        stack[depth, 0], stack[depth, 2] = nodes[node, LEFT] + 1, above + nodes[node, COVERED]
        stack[depth, 1] = short - (nodes[node, LOW] < low[axis] <= cut)
        depth += 1
    return depth


@kernel
def _refresh(nodes: Ints, node: int) -> None:
    left = nodes[node, LEFT]
    if left == 0:
        nodes[node, FULLEST] = nodes[node, COVERED] + nodes[node, CROSSED]
        nodes[node, SPLITTABLE] = nodes[node, FULLEST] if nodes[node, NOTED] else NONE
        return
    nodes[node, FULLEST] = max(nodes[left, FULLEST], nodes[left + 1, FULLEST]) + nodes[node, COVERED]
    splittable = max(nodes[left, SPLITTABLE], nodes[left + 1, SPLITTABLE])
    nodes[node, SPLITTABLE] = NONE if splittable == NONE else splittable + nodes[node, COVERED]


@kernel
def _note(tree: Tree, bucket: int, charge: int) -> None:
    nodes, notes, state = tree.nodes, tree.notes, tree.state
    place = nodes[bucket, NOTED] % PAGE
    if place == 0:
        page = state[FREE_PAGE]
        if page >= 0:
            state[FREE_PAGE] = notes[page, PAGE]
        else:
            page = state[PAGES]
            state[PAGES] += 1
        notes[page, PAGE] = nodes[bucket, NOTES]
        nodes[bucket, NOTES] = page
    notes[nodes[bucket, NOTES], place] = charge
    nodes[bucket, NOTED] += 1


@kernel
def _noted(tree: Tree, bucket: int) -> Ints:
    """The charges that a bucket has noted."""
    left, page = tree.nodes[bucket, NOTED], tree.nodes[bucket, NOTES]
    charges = np.empty(left, dtype=np.int64)
    while left:
        # Only the first page may have free places.
        for place in range((left - 1) % PAGE, -1, -1):
            left -= 1
            charges[left] = tree.notes[page, place]
        page = tree.notes[page, PAGE]
    return charges


@kernel
def count(tree: Tree, charge: int, lows: Ints, highs: Ints, boxes_units: Ints) -> None:
    """Count a charge, disjoint boxes with most units first, where it meets buckets. Requires a free page for each."""
    nodes = tree.nodes
    splitting = tree.state[BUCKETS] < tree.state[MOST_BUCKETS]
    for box in range(len(boxes_units)):
        low, high, units = lows[box], highs[box], boxes_units[box]
        tree.stack[0, 0], tree.stack[0, 1], tree.stack[0, 2] = 0, _short_sides(tree.shape, low, high), 0
        depth, visited = 1, 0
        while depth:
            depth -= 1
            node, short = tree.stack[depth, 0], tree.stack[depth, 1]
            if short == 0:
                nodes[node, COVERED] += units
                nodes[node, FULLEST] += units
                if nodes[node, SPLITTABLE] != NONE:
                    nodes[node, SPLITTABLE] += units
                continue
            tree.stack[visited, 3] = node
            visited += 1
            if nodes[node, LEFT]:
                depth = _push_children(tree, depth, node, low, high, short, 0)
            elif nodes[node, LAST] != charge:
                # Boxes of one charge are disjoint: a bucket counts the one with most units, which it meets first.
                nodes[node, LAST] = charge
                nodes[node, CROSSED] += units
                if splitting:
                    _note(tree, node, charge)
        for i in range(visited - 1, -1, -1):
            _refresh(nodes, tree.stack[i, 3])


@kernel
def fullest(tree: Tree, low: Ints, high: Ints, above: int) -> tuple[int, int]:
    """The largest counter of a bucket that a box meets, and the bucket; −1 for it where none is above a threshold."""
    nodes = tree.nodes
    tree.stack[0, 0], tree.stack[0, 1], tree.stack[0, 2] = 0, _short_sides(tree.shape, low, high), 0
    depth, found = 1, -1
    while depth:
        depth -= 1
        node, short, covers = tree.stack[depth, 0], tree.stack[depth, 1], tree.stack[depth, 2]
        if covers + nodes[node, FULLEST] <= above:
            continue
        if short == 0 or nodes[node, LEFT] == 0:
            above, found = covers + nodes[node, FULLEST], node
        else:
            depth = _push_children(tree, depth, node, low, high, short, covers)
    while found >= 0 and nodes[found, LEFT]:
        left = nodes[found, LEFT]
        found = left if nodes[left, FULLEST] >= nodes[left + 1, FULLEST] else left + 1
    return above, found


@kernel
def box_of(tree: Tree, node: int) -> tuple[Ints, Ints]:
    """The box of a node, from the cuts above it."""
    low, high = np.zeros_like(tree.shape), tree.shape - 1
    while node:
        parent = tree.nodes[node, PARENT]
        axis, cut = tree.nodes[parent, AXIS], tree.nodes[parent, CUT]
        if node == tree.nodes[parent, LEFT]:
            high[axis] = min(high[axis], cut - 1)
        else:
            low[axis] = max(low[axis], cut)
        node = parent
    return low, high


@kernel
def covers_above(tree: Tree, node: int) -> int:
    """The units of the charges that cover a node by covering one above it."""
    covers = 0
    while node:
        node = tree.nodes[node, PARENT]
        covers += tree.nodes[node, COVERED]
    return covers


@kernel
def split_full(tree: Tree, low: Ints, high: Ints, room: int) -> int:
    """Split the buckets that a box meets until each is within the room, or cannot be better, or θ is reached.

    A bucket that charges cover to beyond the room has no point with room in it, and stays whole. Returns what is
    wanting: with NODES_WANTING or NOTES_WANTING, enlarge those arrays and call again to go on.
    """
    nodes = tree.nodes
    tree.stack[0, 0], tree.stack[0, 1], tree.stack[0, 2] = 0, 0, 0
    depth = 1
    while depth and tree.state[BUCKETS] < tree.state[MOST_BUCKETS]:
        depth -= 1
        node, covers = tree.stack[depth, 0], tree.stack[depth, 2]
        if nodes[node, SPLITTABLE] == NONE or covers + nodes[node, SPLITTABLE] <= room:
            continue
        if nodes[node, LEFT] == 0:
            if covers + nodes[node, COVERED] > room:
                continue
            wanting: int = _wanting_to_split(tree, node)
            if wanting:
                return wanting
            _split(tree, node)
            # Its parts are looked at next.
            depth += 1
        else:
            depth = _push_children(tree, depth, node, low, high, 0, covers)
    return NOTHING


@kernel
def _wanting_to_split(tree: Tree, bucket: int) -> int:
    cuts = 2 * len(tree.shape)
    if tree.state[NODES] + 2 * cuts > min(len(tree.nodes), len(tree.stack)):
        return NODES_WANTING
    if tree.state[PAGES] + cuts * (tree.nodes[bucket, NOTED] // PAGE + 2) > len(tree.notes):
        return NOTES_WANTING
    return NOTHING


@kernel
def _split(tree: Tree, bucket: int) -> None:
    """Carve out what all crossing charges have in common; else cut once. [relaxation, Figure 4]"""
    low, high = box_of(tree, bucket)
    bottoms, tops, units, single = _crossing(tree, bucket, low, high)
    common_low, common_high, common = low.copy(), high.copy(), single
    for axis in range(len(low)):
        for box in range(len(units)):
            common_low[axis] = max(common_low[axis], bottoms[box, axis])
            common_high[axis] = min(common_high[axis], tops[box, axis])
        common &= common_low[axis] <= common_high[axis]
    if not common:
        axis, cut = _best_cut(bottoms, tops, units, low, high, tree.state[BY_SUM])
        _cut(tree, bucket, low, high, axis, cut)
    else:
        for axis in range(len(low)):
            if low[axis] < common_low[axis] and tree.state[BUCKETS] < tree.state[MOST_BUCKETS]:
                bucket = _cut(tree, bucket, low, high, axis, common_low[axis]) + 1
                low[axis] = common_low[axis]
            if common_high[axis] < high[axis] and tree.state[BUCKETS] < tree.state[MOST_BUCKETS]:
                bucket = _cut(tree, bucket, low, high, axis, common_high[axis] + 1)
                high[axis] = common_high[axis]
    while bucket:
        _refresh(tree.nodes, bucket)
        bucket = tree.nodes[bucket, PARENT]
    _refresh(tree.nodes, 0)


@kernel
def _crossing(tree: Tree, bucket: int, low: Ints, high: Ints) -> tuple[Ints, Ints, Ints, bool]:
    """The boxes of a bucket's noted charges, clipped to it; and whether each charge meets it with one box only."""
    charges, boxes = _noted(tree, bucket), 0
    for charge in charges:
        boxes += tree.first[charge + 1] - tree.first[charge]
    bottoms, tops = np.empty((boxes, len(low)), dtype=np.int64), np.empty((boxes, len(low)), dtype=np.int64)
    units, row = np.empty(boxes, dtype=np.int64), 0
    for charge in charges:
        for box in range(tree.first[charge], tree.first[charge + 1]):
            meets = True
            for axis in range(len(low)):
                bottoms[row, axis] = max(low[axis], tree.lows[box, axis])
                tops[row, axis] = min(high[axis], tree.highs[box, axis])
                meets &= bottoms[row, axis] <= tops[row, axis]
            if meets:
                units[row] = tree.units[box]
                row += 1
    return bottoms[:row], tops[:row], units[:row], row == len(charges)


@kernel
def _best_cut(bottoms: Ints, tops: Ints, units: Ints, low: Ints, high: Ints, by_sum: int) -> tuple[int, int]:
    """Among the cuts along borders of the crossing boxes, the one whose larger counter is smallest; ties by their sum.

    The paper takes the smallest sum [relaxation, Figure 4, line 6]. That also prefers to trim off an empty margin over
    parting the bucket, and needs several times the buckets for the same capacity; `by_sum` does it, ties by the larger.
    """
    best_axis, best_cut, best, second = -1, -1, 0, 0
    for axis in range(len(low)):
        # On a short axis every code is a place of its own, and no border has to be looked up.
        dense = high[axis] - low[axis] < 4 * len(units)
        cuts = np.arange(low[axis] + 1, high[axis] + 1) if dense else _borders(bottoms, tops, low, high, axis)
        begins, ends = np.zeros(len(cuts) + 1, dtype=np.int64), np.zeros(len(cuts) + 1, dtype=np.int64)
        border, left, right = np.zeros(len(cuts) + 1, dtype=np.bool_), 0, 0
        for i in range(len(units)):
            bottom = bottoms[i, axis] - low[axis] if dense else _rank(cuts, bottoms[i, axis])
            top = tops[i, axis] - low[axis] if dense else _rank(cuts, tops[i, axis])
            # A box is left of the cuts above its bottom, and right of the cuts up to its top.
            begins[bottom] += units[i]
            ends[top] += units[i]
            border[max(bottom - 1, 0)] |= bottom > 0
            border[top] = True
            right += units[i]
        for i in range(len(cuts)):
            left += begins[i]
            right -= ends[i]
            first, then = max(left, right), left + right
            if by_sum:
                first, then = then, first
            if border[i] and (best_axis < 0 or first < best or (first == best and then < second)):
                best_axis, best_cut, best, second = axis, cuts[i], first, then
    return best_axis, best_cut


@kernel
def _borders(bottoms: Ints, tops: Ints, low: Ints, high: Ints, axis: int) -> Ints:
    """The codes of an axis, inside a bucket, where a box begins or where one has just ended; in order."""
    cuts, found = np.empty(2 * len(bottoms), dtype=np.int64), 0
    for i in range(len(bottoms)):
        if bottoms[i, axis] > low[axis]:
            cuts[found] = bottoms[i, axis]
            found += 1
        if tops[i, axis] < high[axis]:
            cuts[found] = tops[i, axis] + 1
            found += 1
    cuts = np.sort(cuts[:found])
    distinct = min(found, 1)
    for i in range(1, found):
        if cuts[i] != cuts[i - 1]:
            cuts[distinct] = cuts[i]
            distinct += 1
    return cuts[:distinct]


@kernel
def _rank(cuts: Ints, code: int) -> int:
    """How many cuts are at or below a code."""
    least, most = 0, len(cuts)
    while least < most:
        middle = (least + most) // 2
        if cuts[middle] <= code:
            least = middle + 1
        else:
            most = middle
    return least


@kernel
def _cut(tree: Tree, bucket: int, low: Ints, high: Ints, axis: int, cut: int) -> int:
    """Cut a bucket, whose box is given, in two, and tell its notes to them. The left one; the other is the next."""
    nodes, state = tree.nodes, tree.state
    left: int = state[NODES]
    state[NODES] += 2
    state[BUCKETS] += 1
    for side in range(2):
        nodes[left + side] = 0
        nodes[left + side, PARENT], nodes[left + side, NOTES], nodes[left + side, LAST] = bucket, -1, -1
    charges = _noted(tree, bucket)
    _free_notes(tree, bucket)
    part_low, part_high = low.copy(), high.copy()
    for side in range(2):
        part_low[axis] = cut if side else low[axis]
        part_high[axis] = high[axis] if side else cut - 1
        for charge in charges:
            _tell(tree, left + side, part_low, part_high, charge)
    nodes[bucket, LEFT], nodes[bucket, AXIS], nodes[bucket, CUT] = left, axis, cut
    nodes[bucket, LOW], nodes[bucket, HIGH], nodes[bucket, CROSSED] = low[axis], high[axis], 0
    _refresh(nodes, left)
    _refresh(nodes, left + 1)
    return left


@kernel
def _free_notes(tree: Tree, bucket: int) -> None:
    page = tree.nodes[bucket, NOTES]
    while page >= 0:
        after = tree.notes[page, PAGE]
        tree.notes[page, PAGE], tree.state[FREE_PAGE] = tree.state[FREE_PAGE], page
        page = after
    tree.nodes[bucket, NOTES], tree.nodes[bucket, NOTED] = -1, 0


@kernel
def _tell(tree: Tree, bucket: int, low: Ints, high: Ints, charge: int) -> None:
    """Count a charge in a new bucket whose box is given: as covering, as crossing, or not at all."""
    for box in range(tree.first[charge], tree.first[charge + 1]):
        if not meet(low, high, tree.lows[box], tree.highs[box]):
            continue
        covers = True
        for axis in range(len(low)):
            covers &= tree.lows[box, axis] <= low[axis] and high[axis] <= tree.highs[box, axis]
        if covers:
            tree.nodes[bucket, COVERED] += tree.units[box]
        else:
            tree.nodes[bucket, CROSSED] += tree.units[box]
            _note(tree, bucket, charge)
        return


@kernel
def project(tree: Tree, axes: Ints, most: Ints) -> None:
    """Raise each cell of an array over some axes to the largest counter of a bucket above it."""
    shape = tree.shape[axes]
    for node in range(tree.state[NODES]):
        if tree.nodes[node, LEFT]:
            continue
        low, high = box_of(tree, node)
        counter = covers_above(tree, node) + tree.nodes[node, FULLEST]
        starts, run = runs(shape, low[axes], high[axes])
        for start in starts:
            row = most[start : start + run]
            for i in range(run):
                row[i] = max(row[i], counter)
