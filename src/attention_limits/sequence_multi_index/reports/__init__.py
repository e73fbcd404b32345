"""What the commands check-link, threshold-table and thresholds print.

In reading order:

- check_link: the checks of one link
- channel_checks: those of its channel
- check_prior: those of a prior of the weights
- thresholds: thresholds of one link, with errors
- threshold_table: thresholds of many cubes

May import it: commands, interface.
"""
