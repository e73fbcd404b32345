"""One naive program for each family: read these first. `python toycodes/<family>.py` prints its number and that of the library.

docs/toycodes.md explains their steps. The benchmarks use their functions as baselines.
"""
