"""SGD as d -> infinity: flows of the overlaps, and diffusion at finite d (Arnaboldi et al. 2025, arXiv:2506.02651).

In reading order:

- fixed_students_flow: one overlap
- paths: path and escape time of a drift
- untied_flow: drift of any student with weights of each token
- any_student_flow: drift and diffusion of any tied student
- start_noise: the noise at the start, then the flow
- escape_diffusion: first passage of one overlap
- escape_plane: first passage of two, with positional vectors

May import it: estimators.
"""
