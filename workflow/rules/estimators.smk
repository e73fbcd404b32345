# One rule for each kind of data, such as potts_samples, and for each estimator, such as smi_gamp. A job writes one file. A file of
# data holds some replicas of a grid value, which all estimators of an experiment read; a file of an estimator holds one chunk of its
# grid and replicas.
# `params` contains specification and code, so Snakemake runs exactly the jobs again that an edit affects. The file of the experiment
# is no input: its date, a comment and the other estimators in it decide nothing.
for made in jobs():

    rule:
        name:
            made.rule
        input:
            # Not ancient: with ancient data Snakemake would not run their readers again in the run that makes the data again.
            made.data,
        output:
            f"{RESULTS}/{made.path}.nc",
        log:
            f"{RESULTS}/logs/{made.path}.log",
        benchmark:
            f"{RESULTS}/benchmarks/{made.path}.tsv"
        priority: made.priority
        conda:
            ENVIRONMENT
        threads: made.threads
        resources:
            mem_mb=made.memory,
            runtime=made.minutes,
        params:
            spec=made.spec,
            code=made.code,
            seed=RUN.seed,
            estimator=made.name,
            experiment=experiment_file(made.family),
            run=run_options,
        message:
            made.message
        shell:
            # The program finds the inputs by their names below the folder of the results.
            "python -P -m attention_limits run {params.experiment:q} --estimator {params.estimator} --chunk {wildcards.chunk} "
            "{params.run} --threads {threads} --output {output:q} "
            "> {log:q} 2>&1 || {{ tail -n 20 {log:q} >&2; false; }}"
