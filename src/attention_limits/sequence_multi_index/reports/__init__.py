"""What the commands check-link, threshold-table, word-spectrum and thresholds print.

In reading order:

- check_link: the checks of one link
- channel_checks: those of its channel
- compilation: whether its posterior is compiled
- check_prior: those of a prior of the weights
- thresholds: thresholds of one link, with errors
- threshold_table: thresholds of many cubes
- word_spectrum: the spectrum of the word vectors of a text

May import it: commands, interface.
"""
