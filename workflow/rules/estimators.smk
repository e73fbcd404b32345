# One rule for each kind of data, such as potts_samples, and for each estimator, such as smi_gamp. A job computes one file: of data
# one point, which the estimators of an experiment share; of an estimator one chunk of its grid and replicas.
# Specification and code stand in `params`, so that Snakemake reruns exactly what an edit to either touches.
for made in jobs():

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
