"""The loop around an update of `any_student_kernels`."""

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.probability.random_kernels import fill_chi_squares, fill_normals


@njit(nogil=True, cache=False)
def run(update, state, source, parameters, work, freedom, schedule):
    """SGD steps until the steps are done, or, if `stop`, until the result of `update` exceeds the threshold.

    Parameters
    ----------
    update : jitted function
        Of `any_student_kernels.make_update`.
    state : array
        Start; overwritten with the end.
    source : array
        Of `random_kernels.random_state`.
    parameters : array
        Those of `update`; the first is eta.
    work : (all draws, all chi, draws, chi, bits)
        Work space: the random numbers of a block of steps, arrays (block * batch * width,) and (block * n,), those of one step,
        (batch, width) and (n,), as `update` takes them, and bits for the longest.
    freedom : float
        Degrees of freedom of each chi^2.
    schedule : (threshold, steps, stop, records, trajectory)
        Threshold of the result of `update`; the longest run; whether the run ends at the threshold; increasing steps after which
        the state is stored; array (records, len(state)), written.

    Returns
    -------
    int
        The step at which the threshold was first exceeded, 0 if it was not.
    """
    all_draws, all_chi, draws, chi, bits = work
    threshold, steps, stop, records, trajectory = schedule
    width = draws.size
    escaped, row, step, at = 0, 0, 0, len(all_draws)
    while True:
        if at * width >= len(all_draws):
            fill_normals(source, bits, all_draws)
            fill_chi_squares(source, bits, freedom, all_chi)
            at = 0
        step += 1
        while row < len(records) and records[row] < min(step, steps + 1):
            trajectory[row] = state
            row += 1
        if step > steps:
            break
        # Copies: views of a row would cost more.
        for b in range(draws.shape[0]):
            for i in range(draws.shape[1]):
                draws[b, i] = all_draws[at * width + b * draws.shape[1] + i]
        for i in range(len(chi)):
            chi[i] = all_chi[at * len(chi) + i]
        learned = update(state, draws, chi, parameters)
        at += 1
        if escaped == 0 and learned > threshold:
            escaped = step
            if stop:
                # The state of the step itself belongs to the trajectory.
                if row < len(records) and records[row] == step:
                    trajectory[row] = state
                break
    return escaped
