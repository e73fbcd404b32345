# One rule per family, such as smi_cube, joins the chunks of an experiment.
def chunks_of(family):
    return lambda wildcards: PROJECT.experiments[family][wildcards.experiment].chunk_paths(RESULTS)


def outdated_of(family):
    return lambda wildcards: outdated_cube(family, wildcards.experiment)


def digest_of(family):
    return lambda wildcards: PROJECT.experiments[family][wildcards.experiment].digest(RUN.seed)


def merge_command(family):
    return lambda wildcards, output: program("merge", experiment_file(family, wildcards.experiment), "--output", output)


for family in PROJECT.experiments:

    rule:
        name:
            load_family(family).rule("cube")
        input:
            chunks_of(family),
            outdated_of(family),
        output:
            f"{RESULTS}/cubes/{family}/{{experiment}}.nc",
        log:
            f"{RESULTS}/logs/cubes/{family}/{{experiment}}.log",
        benchmark:
            f"{RESULTS}/benchmarks/cubes/{family}/{{experiment}}.tsv"
        group:
            drawing
        conda:
            ENVIRONMENT
        threads: 1
        resources:
            mem_mb=lambda wildcards, attempt: 2000 * attempt,
            runtime=lambda wildcards, attempt: 30 * attempt,
        params:
            digest=digest_of(family),
            command=merge_command(family),
        message:
            f"{family}/{{wildcards.experiment}}: merge {{output}}"
        shell:
            SHELL
