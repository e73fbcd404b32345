"""Arrays that begin on a cache line: a vector register is then loaded from one line, not from two."""

import numpy as np

# Bytes.
CACHE_LINE = 64


def aligned(shape: tuple[int, ...], dtype) -> np.ndarray:
    """An array of zeros of a `shape` and a `dtype` that begins on a cache line; numpy aligns to 16 bytes only."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    space = np.zeros(size + CACHE_LINE, dtype=np.uint8)
    skip = -space.ctypes.data % CACHE_LINE
    return space[skip : skip + size].view(dtype).reshape(shape)
