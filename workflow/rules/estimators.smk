# One rule for each estimator, such as smi_gamp: a job computes a chunk of its grid and replicas.
for made in jobs("estimators"):

    rule:
        name:
            made.rule
        input:
            # Not ancient: Snakemake would make new data and leave their readers, whose params it compares only without new input.
            made.data,
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
