"""Numerical tools that know no model.

- caches, compiled, own_helpers: the user's folder of caches; numba with a cache on disk, and private copies of its helpers
- content: compiled code of a user's functions on disk, under a digest of what they do
- fast_math, differences: vectorised functions; numerical derivatives
- simd/, solvers/, probability/: vectors and dual numbers; fixed points and roots; nodes, random numbers, statistics
- tracing/: functions of NumPy arrays in JAX, and as compiled loops over nodes
"""
