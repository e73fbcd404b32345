"""Figure 2 of Rende et al. 2024, what its learners of Potts data reach.

Losses (`fig2`), losses of mixed inputs (`fig2_mixing`), couplings (`fig2_recovery`), contacts (`fig2_contacts`).
"""
