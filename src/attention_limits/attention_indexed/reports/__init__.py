"""Checks of a channel and of a law of S, and thresholds: what commands and users ask for.

In reading order:

- check_channel: the checks of one channel
- compilation: whether its posterior is compiled
- check_prior: those of a law of S
- thresholds: thresholds of one layer, in closed form

May import it: commands, interface.
"""
