"""Links: functions of the fields z of one sequence, for targets g(z*) and students F(z) of Arnaboldi et al. 2025
(arXiv:2506.02651).

In reading order:

- names, link: the provided links
- scalar: the same links for compiled code
- files, checks: links of a user, and their checks
- geometry: overlaps and positional vectors

May import it: every other room of the family.
"""
