"""The one source of random bits: an AES-256 counter stream keyed by the operating system."""

import hashlib
import os
import threading
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidNoise

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import CipherContext

Words = NDArray[np.uint64]

WORD_BYTES = 8
KEY_BYTES = 32
REKEY_WORDS = 2**27  # 1 GiB: far below the 2^64 blocks where a counter stream begins to look unlike random bits
_PIECE_WORDS = 2**13  # 64 KiB of plaintext stays in the cache beside the words it becomes
_PLAINTEXT = memoryview(bytes(_PIECE_WORDS * WORD_BYTES))

_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


def _process() -> tuple[int, int]:
    # The count tells a child from its parent even where a process id comes round again; the id catches a fork
    # made by foreign code, which Python's hook does not see.
    return _forks, os.getpid()


class _Stream(threading.local):
    """One thread's key stream: threads never share a counter, so they need no lock and never see equal words."""

    context: "CipherContext | None" = None
    process: tuple[int, int] | None = None
    words_left: int = 0


class Bits:
    """Words of independent, uniform bits, each handed out once.

    Every thread and every process has a key of its own, from the operating system; a key is replaced after
    `REKEY_WORDS` words. Unpredictable as long as AES-256 in counter mode is.
    """

    def __init__(self, purpose: bytes = b"") -> None:
        self._stream = _Stream()
        self._purpose = purpose

    def _key(self) -> bytes:
        # A keyed hash is a function that nobody can tell from a random one: with other purposes it gives other keys,
        # also where an operating system hands out the same bytes twice, as a machine does that was resumed twice.
        return hashlib.blake2b(self._purpose, key=os.urandom(KEY_BYTES), digest_size=KEY_BYTES).digest()

    def for_release(self, charge: bytes) -> "Bits":
        """A source for one release, named by the hash of its charge in the journal, which is durable by now.

        It has a key of its own that the operating system is asked for later than now: whatever this process was before
        (forked, snapshotted, resumed), it shares no word with the source of another release.
        """
        return Bits(charge)

    def fill(self, out: Words) -> int:
        """Fill `out`, which must be contiguous, from its start; return how many words were written.

        Here that is all of them. A source with an end, as exact tests use, may write fewer, but never none.
        """
        target = out.data.cast("B") if out.size else memoryview(b"")
        for start in range(0, out.size, _PIECE_WORDS):
            count = min(_PIECE_WORDS, out.size - start)
            context = self._context_for(count)
            context.update_into(
                _PLAINTEXT[: count * WORD_BYTES], target[start * WORD_BYTES : (start + count) * WORD_BYTES]
            )
        return out.size

    def words(self, count: int) -> Words:
        """Exactly `count` fresh words of 64 uniform bits."""
        out = np.empty(count, np.uint64)
        filled = 0
        while filled < count:
            filled += self.fill(out[filled:])
        return out

    def _context_for(self, count: int) -> "CipherContext":
        stream = self._stream
        process = _process()
        if stream.context is None or stream.process != process or stream.words_left < count:
            stream.context = _key_stream(self._key())
            stream.process = process
            stream.words_left = REKEY_WORDS
        stream.words_left -= count
        return stream.context


def _key_stream(key: bytes) -> "CipherContext":
    # What is answered without noise needs no cipher, and it takes long to import.
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES256
    from cryptography.hazmat.primitives.ciphers.modes import CTR

    return Cipher(AES256(key), CTR(bytes(16))).encryptor()


class SeededBits(Bits):
    """A repeatable stream for tests and experiments on made-up data. `require_production` refuses it."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._seed = seed
        self._keys_made = 0
        self._releases = 0

    def _key(self) -> bytes:
        self._keys_made += 1
        return self._seed.to_bytes(KEY_BYTES // 2, "big") + self._keys_made.to_bytes(KEY_BYTES // 2, "big")

    def for_release(self, charge: bytes) -> "SeededBits":  # noqa: ARG002
        """The first, the second, … source of this seed, whatever the charge is: its hash differs from run to run."""
        self._releases += 1
        name = f"release {self._releases} of {self._seed}".encode()
        return SeededBits(int.from_bytes(hashlib.blake2b(name, digest_size=KEY_BYTES // 2).digest(), "big"))


def require_production(bits: Bits) -> None:
    """Refuse a source whose bits can be foretold. Everything that draws noise for a release calls this first."""
    if type(bits) is not Bits:
        raise InvalidNoise(
            f"{type(bits).__name__} is not a production source of random bits; "
            "releases take noise from discreet.noise.bits.Bits only"
        )
