"""What the commands check-link, threshold-table and thresholds print.

In reading order:

- check_link, density_tests: tests of one link
- thresholds: thresholds of one link, with errors
- threshold_table: thresholds of many cubes

May import it: commands, interface.
"""
