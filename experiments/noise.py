"""Noise that repeats: what the production source of bits hands out in this process is decided by a name alone.

For the figures of experiments, and for tests. Processes that are started draw from the operating system.
"""

import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from discreet.noise.bits import Bits, Words


class RepeatableNoise:
    """From when it is made, the one source of bits; within a `named` block, a stream of that name."""

    def __init__(self) -> None:
        self._streams: list[np.random.Generator | None] = []
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._fill = Bits.fill
        Bits.fill = lambda bits, out: self.fill(bits, out)  # type: ignore[method-assign]

    def fill(self, bits: Bits, out: Words) -> int:
        known = type(bits) is Bits and os.getpid() == self._process and self._streams
        stream = self._streams[-1] if known else None
        if stream is None:
            return self._fill(bits, out)
        with self._lock:  # threads share the stream: which of them a server happens to use makes no difference
            out[:] = stream.integers(2**64, size=out.size, dtype=np.uint64)
        return out.size

    @contextmanager
    def named(self, *name: object) -> Iterator[None]:
        """Within the block, the stream of this name, from its start."""
        seed = hashlib.sha256("\0".join(map(str, name)).encode()).digest()
        with self._drawn_from(np.random.default_rng(list(seed))):
            yield

    @contextmanager
    def the_systems(self, *_name: object) -> Iterator[None]:
        """Within the block, what the operating system gives."""
        with self._drawn_from(None):
            yield

    @contextmanager
    def _drawn_from(self, stream: np.random.Generator | None) -> Iterator[None]:
        self._streams.append(stream)
        try:
            yield
        finally:
            self._streams.pop()
