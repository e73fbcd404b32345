"""Masked-token learning of Potts data (Rende, Gerace, Laio, Goldt 2024, arXiv:2304.07235)."""
