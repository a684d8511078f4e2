"""Discreet and its peers at the same tasks, in one run on one machine: `python -m bench.peers`.

Peers want versions of their dependencies that do not go together, so each has a virtual environment of its own under
bench/out/peers, made when it is first needed. `tools/` holds one file a peer, run by the peer's interpreter; `worker`,
`workload` and this file are run by it too, so they need NumPy and nothing else.
"""

from collections.abc import Iterator

from bench.figure import Figure


def figures() -> Iterator[Figure]:
    """What `python -m bench peers` shows: the whole comparison, each task cut off after two minutes."""
    from bench.peers.figures import peer_figures  # a peer's interpreter has not what this needs

    return peer_figures()
