"""Vectors of numbers side by side, for compiled code: one lane for each replica or sequence.

In reading order:

- float32_lanes, float64_lanes: vectors of sixteen and of eight numbers, their arithmetic, loads and stores
- dual_numbers: exact derivatives, of single numbers or of eight
- products: products of small matrices whose entries are vectors
- aligned_arrays, copying_kernels: memory at the borders of cache lines, and copies into it

May import it: the other rooms of `numerics`, and kernels of the families.
"""
