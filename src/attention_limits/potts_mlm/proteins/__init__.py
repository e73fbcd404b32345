"""Alignments of proteins: reading, statistics, fits, ridge regression and generated sequences.

Sources: Ekeberg et al. 2014 (pseudo-likelihood), Bhattacharya et al. 2022 and Caredda and Pagnani 2025 (attention on
alignments).

In reading order:

- formats: FASTA, A2M, A3M, Stockholm
- alignment: letters, gaps, filters, training and test sequences
- statistics: weights and frequencies
- fits: fits of a grid point
- symmetric: one coupling for both conditionals of a pair
- ridge, gaussian_population: ridge regression of one site, and its Gaussian control
- generation: sequences of a fitted model

May import it: schema, estimators.
"""
