"""The output that gradient descent compares with that of the student (squared loss, Troiani et al. 2025, arXiv:2502.00901)."""


def teacher_output(link, fields, noise):
    """Outputs (N, ...) of the teacher's fields (N, P, M), with standard normal `noise` (N, noise_dimension of the `link`).

    Raises ValueError when the observation of a noisy link has another shape than its forward pass.
    """
    y = link.forward(fields)
    if not link.noise_dimension:
        return y
    observed = link.observe(fields, noise)
    if observed.shape != y.shape:
        raise ValueError(
            f"{link.name}: the squared loss compares forward, of shape {y.shape[1:]}, with observe, of shape "
            f"{observed.shape[1:]}; they must agree"
        )
    return observed
