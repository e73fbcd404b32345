"""Attention indexed by extensive-width matrices (Boncoraglio, Troiani, Erba, Zdeborova 2025, arXiv:2506.01582)."""
