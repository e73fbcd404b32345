"""What the commands check-channel and thresholds print.

In reading order:

- check_channel: tests of one channel
- thresholds: thresholds of one layer, in closed form

May import it: commands, interface.
"""
