"""Digests of code hold what decides bytes, and nothing else: neither messages nor YAML nor specifications."""

import json
import subprocess
import sys

import pytest

import job_imports
from attention_limits.pipeline.base import provenance
from job_imports import code_of
from toy import REPOSITORY, repository

FAMILIES = sorted(path.parent.name for path in (REPOSITORY / "config").glob("*/experiments"))
OF_CHUNKS = {
    "base/streams.py",
    "base/files.py",
    "base/errors.py",
    "cubes/points.py",
    "base/user_files.py",
    "base/texts.py",
}
OF_CUBES = {"cubes/cube_bytes.py", "cubes/combine.py", "base/files.py", "base/registry.py", "base/errors.py"}


def modules(*roots):
    """All modules of the import closure, without the empty ones of packages."""
    found = set().union(*(provenance.closure(root) for root in roots))
    paths = {provenance._file(name) for name in found}
    return {str(path.relative_to(provenance.SOURCE)) for path in paths if path.name != "__init__.py"}


def inside(folder, names):
    return {f"{folder}/{name}" for name in names}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_code_of_a_cube_beside_its_chunks(family):
    found = modules("attention_limits.pipeline.cubes.cube_bytes", f"attention_limits.{family}.variables")
    shared = {name for name in found if not name.startswith((f"{family}/variables", f"{family}/schema/"))}
    assert shared == inside("pipeline", OF_CUBES)
    assert f"{family}/variables.py" in found
    # An edit of a key rewrites no cube.
    assert all(
        name.startswith((f"{family}/schema/variables", f"{family}/schema/__init__"))
        for name in found
        if name.startswith(f"{family}/schema/")
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_the_code_of_a_chunk(family):
    for experiment in repository().experiments[family].values():
        for estimator in experiment.all_estimators.values():
            found = modules(estimator.module, "attention_limits.pipeline.base.streams")
            others = {name for name in found if name.split("/")[0] not in (family, "numerics")}
            assert others <= inside("pipeline", OF_CHUNKS), estimator.module
            # An edit of a description or of a caption computes nothing.
            own = {name.removeprefix(f"{family}/") for name in found if name.startswith(f"{family}/")}
            assert not {
                name for name in own if name.startswith(("specs", "schema/", "variables", "figures/", "readings"))
            }


def test_the_code_of_a_figure():
    for figure in repository().figures.values():
        found = modules(figure.module)
        assert {name.split("/")[0] for name in found} <= {figure.family, "plotting.py", "pipeline", "numerics"}
        assert not {name for name in found if name.endswith("_kernels.py") or "/estimators/" in name}, figure.name


# Even the first points of the other two families compute for minutes.
@pytest.mark.slow
@pytest.mark.parametrize("family", ["attention_indexed", "sequence_single_index"])
def test_the_digest_of_a_job_holds_every_module_that_the_job_imports(family):
    """Also those that are imported by name. The first point of each kind of job runs."""
    done = subprocess.run(
        [sys.executable, job_imports.__file__, family], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {}


def values(job, key, default=None):
    """The values of a key of the model at all points of a job."""
    return set(job.grid.get(key, [job.model.get(key, default)]))


def named(*names):
    return lambda job: job.name in names


def loaded(*conditions):
    """Jobs that load their channel and their law of S by name, and meet the conditions."""
    names = ("state_evolution", "phase_comparison", "small_width_limit", "matrix_amp", "matrix_amp_sizes")
    return lambda job: job.name in names and all(condition(job) for condition in conditions)


def channel(*names):
    return lambda job: job.model["channel"] in names


def untied(job):
    return values(job, "untied", False) == {True}


def tied(job):
    return not untied(job)


def of_file(job):
    return ".py:" in job.model["channel"]


def sampled(job):
    return of_file(job) or (values(job, "output_noise", 0.0) != {0.0} and job.model["channel"] != "linear")


def rectangular(job):
    return values(job, "aspect", 1.0) != {1.0}


TWO_TOKENS = loaded(channel("hardmax", "hardmax_published"), tied, lambda job: 2 in values(job, "tokens"))
MORE_TOKENS = loaded(channel("hardmax"), tied, lambda job: max(values(job, "tokens")) > 2)
SPECTRUM = loaded(lambda job: values(job, "spectrum") != {None})
ERM = ("erm_state_evolution", "erm_optimal_decay", "erm_gamp", "erm_minimisation")
# Weight decay takes tied, untied and rectangular S, and imports the teachers of all laws.
DECAY = named(*ERM)


def untied_laws(*conditions):
    """Jobs that load the law of S of untied attention: those of `loaded`, and weight decay."""
    return lambda job: (
        loaded(untied, *conditions)(job)
        or (DECAY(job) and untied(job) and all(condition(job) for condition in conditions))
    )


RECTANGULAR = untied_laws(rectangular)
UNTIED_AMP = named("untied_amp")
# The descent of several layers measures its errors on fresh data with the module that does so for AMP of two layers.
TWO_LAYERS = ("two_layers_state_evolution", "two_layers_phases", "two_layers_amp", "layers_descent")
# Module of attention_indexed -> the jobs that an edit of it concerns.
EDITS = {
    "channels.files": loaded(of_file),
    "channels.output": loaded(sampled),
    "channels.sampled": loaded(sampled),
    "channels.untied": lambda job: loaded(channel("linear", "softmax"), untied)(job) or DECAY(job) or UNTIED_AMP(job),
    "channels.hardmax.output": loaded(channel("hardmax", "hardmax_published")),
    "channels.hardmax.untied": loaded(channel("hardmax"), untied),
    "channels.hardmax.two_tokens": TWO_TOKENS,
    "channels.hardmax.pair_kernels": TWO_TOKENS,
    "channels.hardmax.many_tokens": MORE_TOKENS,
    "channels.hardmax.posterior_kernels": MORE_TOKENS,
    "priors.product": lambda job: untied_laws()(job) or UNTIED_AMP(job),
    "priors.denoisers.product": lambda job: loaded(untied)(job) or DECAY(job) or UNTIED_AMP(job),
    "priors.rectangular": RECTANGULAR,
    "priors.denoisers.rectangular": lambda job: RECTANGULAR(job) or DECAY(job),
    "priors.invariant": SPECTRUM,
    "priors.spectra": SPECTRUM,
    "priors.tabulated": lambda job: RECTANGULAR(job) or SPECTRUM(job),
    # The curve of the denoiser is collected as the others.
    "state_evolution.bounded_solutions": lambda job: loaded()(job) or job.name == "denoising",
    "amp.schedule": named("matrix_amp", "matrix_amp_sizes", "erm_gamp", "two_layers_amp", "untied_amp"),
    "amp.matrix_amp": named("matrix_amp", "matrix_amp_sizes", "two_layers_amp", "untied_amp"),
    "training.gradient_descent": named("gradient_descent", "layers_descent", "untied_descent"),
    "training.untied_descent": named("untied_descent"),
    "training.slice_sampling": named("posterior_sampling"),
    "two_layers.layers": named(*TWO_LAYERS),
    "two_layers.two_tokens.posterior_kernels": named(*TWO_LAYERS),
    "two_layers.amp": named("two_layers_amp"),
    "two_layers.phases.free_entropy": named(*TWO_LAYERS),
    "two_layers.phases.branches": named("two_layers_phases"),
    "two_layers.phases.information": named("two_layers_phases"),
    "two_layers.generalization": named("two_layers_state_evolution"),
    "erm.estimate": DECAY,
    "erm.best_decay": named("erm_optimal_decay"),
    "erm.simulations.message_passing": named("erm_gamp"),
    "erm.simulations.minimisation": named("erm_minimisation"),
}


def of_link(*names):
    return lambda job: job.model.get("link") in names


ERM_OF_LINKS = {
    "erm_gamp", "erm_minimisation", "erm_online_sgd", "erm_optimal_ridge", "erm_state_evolution", "erm_transition",
}  # fmt: skip
# Estimators whose numbers need no posterior of the outputs.
WITHOUT_CHANNEL = {*ERM_OF_LINKS, "depth_scaling", "trec"}
OF_ALIGNMENTS = {
    "alignment_ridge", "alignment_summary", "alignment_transformer", "generated_sequences", "multihead_attention",
    "symmetric_pseudo_likelihood",
}  # fmt: skip
OF_FUNCTIONS = {"escape_diffusion", "information_exponent", "landscape", "link_sgd", "position_minima", "token_lines"}
# Module of a family -> the jobs that an edit of it concerns; in these families mostly all jobs of some estimators.
EDITS_BY_FAMILY = {
    "attention_indexed": EDITS,
    "sequence_multi_index": {
        "links.attention.rank": of_link("rank_attention"),
        "links.heads.learned_readout": of_link("learned_readout"),
        "links.jax_forward": named("online_sgd", "batch_reuse_sgd", "sgd_flow"),
        "priors.loading": lambda job: (
            job.name not in {"depth_scaling", "trec", "erm_state_evolution", "erm_transition", "erm_optimal_ridge"}
        ),
        "channels.trapezoid.moments_kernels": lambda job: job.name not in WITHOUT_CHANNEL,
        "channels.published.gradient": named("published_map"),
        "data.teacher_overlap": named(
            "gamp", "gamp_sample_variance", "relaxed_belief_propagation", "online_sgd", "batch_reuse_sgd"
        ),
        "state_evolution.trajectory": named("state_evolution_trajectory"),
        "state_evolution.phases": named("phase_comparison", "exact_recovery", "optimal_recovery"),
        "gamp.gamp": named("gamp", "held_gamp", "gamp_sample_variance", "relaxed_belief_propagation"),
        "training.gradient_descent": named("online_sgd", "batch_reuse_sgd"),
        "weak_recovery.staircase": named("staircase", "threshold_atlas"),
        "weak_recovery.growth": named("shallow_growth"),
        "erm.state_evolution": named(*ERM_OF_LINKS),
        "erm.gamp": named("erm_gamp"),
        "questions.classifier": named("trec"),
    },
    "sequence_single_index": {
        "links.built_in": named(*OF_FUNCTIONS),
        "population_loss.quadrature": named("landscape", "information_exponent"),
        "population_loss.series": named("landscape"),
        "sgd.any_student": named("link_sgd", "escape_diffusion", "position_minima"),
        "large_dimension.any_student_flow": named("link_sgd", "escape_diffusion"),
        "large_dimension.fixed_students_flow": named("tied_sgd", "untied_sgd", "hermite_sgd"),
        "positional_semantic.exit": named("linear_theory"),
        "positional_semantic.several_positions": named("position_minima"),
    },
    "potts_mlm": {
        "potts.gibbs_kernels": lambda job: job.name not in {"replica", "ridge_simulation", "stacked_attention"},
        "descent.epochs": named("factored_training", "transformer", "alignment_transformer", "stacked_attention"),
        "attention.mixed": named("mixed_attention"),
        "transformer.transformer": named("transformer", "alignment_transformer"),
        "replica.theory": named("replica", "alignment_ridge"),
        "many_body.model": named("stacked_attention"),
        "proteins.alignment": named(*OF_ALIGNMENTS),
        "proteins.generation": named("generated_sequences"),
    },
}


@pytest.mark.parametrize(
    ("family", "module"), [(family, module) for family, edits in EDITS_BY_FAMILY.items() for module in edits]
)
def test_an_edit_reruns_exactly_the_jobs_that_use_it(family, module):
    name = f"attention_limits.{family}.{module}"
    assert provenance.has_module(name)
    every = {
        f"{experiment.name}/{job.name}": job
        for experiment in repository().experiments[family].values()
        for job in experiment.estimators.values()
    }
    expected = {title for title, job in every.items() if EDITS_BY_FAMILY[family][module](job)}
    assert 0 < len(expected) < len(every)
    assert {title for title, job in every.items() if name in code_of(job)} == expected


@pytest.mark.parametrize("family", FAMILIES)
def test_edits_of_every_room_are_tested(family):
    """`model` is the room that all jobs of attention_indexed use."""
    folder = provenance.SOURCE / family
    rooms = {path.parent.name for path in folder.glob("*/__init__.py")}
    assert {module.partition(".")[0] for module in EDITS_BY_FAMILY[family]} == rooms - {
        "model", "schema", "estimators", "reports", "figures",
    }  # fmt: skip
