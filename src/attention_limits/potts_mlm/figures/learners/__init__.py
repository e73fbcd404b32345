"""Figure 2 of Rende et al. 2024, what its learners of Potts data reach.

Losses (`fig2`), couplings and contacts (`fig2_recovery`).
"""
