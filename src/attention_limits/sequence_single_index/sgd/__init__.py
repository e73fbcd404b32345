"""Online SGD in the space of the overlaps alone: the law of the simulation in d dimensions, at a cost without d (Arnaboldi et
al. 2025, arXiv:2506.02651).

    w <- w - gamma gradient, then back to the sphere;    tokens x ~ N(0, I / d), a fresh batch at each step

In reading order:

- fixed_students, fixed_students_kernels: tied, untied and Hermite students
- attention_kernels: a softmax layer of two tokens
- lanes_kernels: the loop over steps
- any_student, any_student_kernels, functions_kernels: any student and target

May import it: large_dimension, positional_semantic, estimators.
"""
