"""Feeding native samplers with random words, block by block, so that running out changes no outcome."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidNoise
from discreet.native import Kernel
from discreet.noise.bits import Bits, Words

LANE_WORDS = 32  # at most; 2,048 lanes keep the vector units busy and a block's state in the first-level cache
WORD_STEPS = 8  # what Python does for a random word, in steps of its loops
POOL_WORDS = 2**15  # 256 KiB of random words stay in the second-level cache

FINISHED, OUT_OF_WORDS, OUT_OF_DIGITS, OUT_OF_RANGE = 0, -1, -2, -3

Draw = Kernel[[Words, Any, int, NDArray[Any]], tuple[int, int, int]]


def fill_by_blocks(
    out: NDArray[Any],
    draw: Draw,
    tables: Callable[[int], Any],
    words_per_lane_word: float,
    bits: Bits,
) -> None:
    """Fill `out` with `draw(words, tables(further_words), lane_words, out)`.

    `draw` fills blocks of 64 * lane_words items one after another and is a deterministic function of the word
    sequence; it returns how many items it filled, how many words those took, and why it stopped. A block that
    lacks words or digits is begun again on the very same words with more behind them.
    `words_per_lane_word` is about what a block takes for each 64 of its lanes.
    """
    further_words = 1
    table = tables(further_words)
    lane_words = min(LANE_WORDS, -(-out.size // 64))
    block = int(words_per_lane_word * lane_words * 1.02) + 64
    blocks_left = -(-out.size // (64 * max(lane_words, 1)))
    pool = np.empty(block * min(blocks_left, max(1, POOL_WORDS // block)), np.uint64)
    held = done = 0
    status = OUT_OF_WORDS
    fill = draw.sized(WORD_STEPS * block * blocks_left)
    while done < out.size:
        if status == OUT_OF_DIGITS:
            further_words *= 2
            table = tables(further_words)
        elif status == OUT_OF_RANGE:
            raise InvalidNoise("a draw does not fit 64 bits; nothing was returned")
        else:
            if held == pool.size:
                pool = np.concatenate((pool, np.empty_like(pool)))
            held += bits.fill(pool[held:])
        filled, used, status = fill(pool[:held], table, lane_words, out[done:])
        done += filled
        held -= used
        pool[:held] = pool[used : used + held].copy()
