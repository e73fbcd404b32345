# One rule per family, such as smi_cube, joins the chunks of an experiment.
def chunks_of(family):
    return lambda wildcards: PROJECT.experiments[family][wildcards.experiment].chunk_paths(RESULTS)


def digest_of(family):
    return lambda wildcards: PROJECT.experiments[family][wildcards.experiment].digest(RUN.seed)


for family in PROJECT.experiments:

    rule:
        name:
            load_family(family).rule("cube")
        input:
            chunks_of(family),
        output:
            f"{RESULTS}/cubes/{family}/{{experiment}}.nc",
        log:
            f"{RESULTS}/logs/cubes/{family}/{{experiment}}.log",
        benchmark:
            f"{RESULTS}/benchmarks/cubes/{family}/{{experiment}}.tsv"
        priority: AT_ONCE
        group:
            drawing
        conda:
            ENVIRONMENT
        threads: 1
        resources:
            mem_mb=doubled(2000),
            runtime=doubled(30),
        params:
            digest=digest_of(family),
            experiment=experiment_file(family),
            run=run_options,
        message:
            f"{family}/{{wildcards.experiment}}: merge {{output}}"
        shell:
            # The program finds the inputs by their names: thousands of chunks would not fit into a line.
            "python -P -m attention_limits merge {params.experiment:q} {params.run} --output {output:q} "
            "> {log:q} 2>&1 || {{ tail -n 20 {log:q} >&2; false; }}"
