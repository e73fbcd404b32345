# One rule for each estimator, such as smi_gamp: a job computes a chunk of its grid and replicas.
for made in jobs("estimators"):

    rule:
        name:
            made.rule
        input:
            # The specification and the code of the data are in the params, so their dates do not matter.
            ancient(made.data),
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
