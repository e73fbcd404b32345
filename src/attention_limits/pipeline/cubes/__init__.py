"""From chunks to cubes: computed, joined, written, read.

In reading order:

- points: the loop over the points of a chunk
- chunks: compute a chunk; reuse points that exist
- combine, cube_bytes: join chunks; the bytes of a cube
- reader: read a cube, and validate it
- readings: single numbers with errors from a cube, and its flags

May import it: `audit`, `plotting`, estimators, figures and readings of the families, `interface` and `cli`.
"""
