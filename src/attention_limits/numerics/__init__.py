"""Numerical tools that know no model.

- compiled, own_helpers: numba with a cache on disk, and private copies of its helpers
- fast_math, dual_numbers, differences: vectorised functions; exact and numerical derivatives
- simd/, solvers/, probability/: vectors; fixed points and roots; nodes, random numbers, statistics
"""
