# One rule for each kind of data, such as potts_samples: one file per point, which the estimators of an experiment share.
# Specification and code stand in `params`, so that Snakemake reruns exactly what an edit to either touches.
for made in jobs("data"):

    rule:
        name:
            made.rule
        output:
            f"{RESULTS}/{made.path}.nc",
        log:
            f"{RESULTS}/logs/{made.path}.log",
        benchmark:
            f"{RESULTS}/benchmarks/{made.path}.tsv"
        conda:
            ENVIRONMENT
        threads: made.threads
        resources:
            mem_mb=made.memory,
            runtime=made.minutes,
        params:
            spec=made.spec,
            code=made.code,
            seed=PROJECT.seed,
            command=made.command,
        message:
            made.message
        shell:
            SHELL
