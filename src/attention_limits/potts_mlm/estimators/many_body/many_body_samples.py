"""Training and test sequences of a Potts model with terms of q sites; each chain gives one sequence, its last state."""

from attention_limits.pipeline.base.streams import Streams
from attention_limits.pipeline.cubes.points import collect
from attention_limits.potts_mlm.attention.training_sets import sites_from_one
from attention_limits.potts_mlm.many_body.gibbs import sample
from attention_limits.potts_mlm.many_body.model import ManyBody, make_model

_DIMS = {
    "training_states": ("sample", "site"), "test_states": ("test_sample", "site"),
    "half_energy": ("half",), "half_energy_error": ("half",),
}  # fmt: skip


def instance_of(model: dict, family: str, order: int, streams: Streams, replica: int) -> ManyBody:
    """The model of a specification at an `order` of the grid; instances with one number are equal in all experiments."""
    number = model["instance"][replica] if isinstance(model["instance"], list) else model["instance"]
    instances = Streams(streams.root_seed, family, "many_body_instances")
    orders = range(2, order + 1) if model["lower_orders"] else [order]
    return make_model(model, orders, lambda one: instances.generator("terms", number, order=one))


def run(spec, streams):
    """Sequences, and the energies of both halves of the chains (see `variables`)."""
    solver = spec["solver"]

    def compute(at, replica):
        model = instance_of(spec["model"], spec["family"], int(at["order"]), streams, replica)
        rng = streams.generator("samples", replica, **at)
        found = sample(model, solver.samples + solver.test_samples, solver.sweeps, rng)
        return {
            "training_states": found.states[: solver.samples],
            "test_states": found.states[solver.samples :],
            "half_energy": found.energies,
            "half_energy_error": found.errors,
            "many_body_converged": found.converged,
        }

    return sites_from_one(collect(spec, compute, _DIMS, {"half": [1, 2]}))
