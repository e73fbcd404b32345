"""What a function of NumPy arrays computes, found by calling it once with arrays that record.

In reading order:

- traced, small_matrices: arrays of JAX that NumPy functions accept, and the functions of `np.linalg` for them
- straight_line: the operations on the numbers of one node, as lines of code
- lowered: these lines as instructions of LLVM
- node_loop, loop_or_reason, plain_reasons: a loop over nodes that numba compiles, or why there is none
- jet: a function with its first and second derivatives, compiled
- elementary: the functions of such a loop that the compiler vectorises

May import it: links, channels, erm.
"""
