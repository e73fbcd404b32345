"""Arrays that begin on a cache line, so that a vector register is loaded from one line, and the size of a work space."""

import numpy as np

# Bytes.
CACHE_LINE = 64
# Largest array of a work space that is filled in blocks, in numbers: 48 MB in double precision.
NUMBERS_AT_ONCE = 6_000_000


def aligned(shape: tuple[int, ...], dtype) -> np.ndarray:
    """An array of zeros of a `shape` and a `dtype` that begins on a cache line; numpy aligns to 16 bytes only."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    space = np.zeros(size + CACHE_LINE, dtype=np.uint8)
    skip = -space.ctypes.data % CACHE_LINE
    return space[skip : skip + size].view(dtype).reshape(shape)
