"""Names of the channels, for specifications and solvers."""

# Channels with a posterior mean, and all.
WITH_POSTERIOR = ("linear", "softmax", "hardmax")
NAMES = (*WITH_POSTERIOR, "hardmax_published")


def untied_problem(channel: str, noise: float) -> str | None:
    """Why there is no untied `channel` of this name with output noise of the variance `noise`; None where there is one."""
    if channel not in WITH_POSTERIOR:
        return f"{channel}: allowed with untied: true: {', '.join(WITH_POSTERIOR)}"
    if noise > 0 and channel != "linear":
        return f"{channel}: with untied: true and output noise {noise:g}: allowed: linear, or output_noise 0"
    return None
