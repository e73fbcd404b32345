# Data that several estimators of an experiment read: one file per point, gone when its last reader is done.


rule data:
    output:
        temp(RESULTS + "/data/{family}/{experiment}/{estimator}/{chunk}.nc"),
    params:
        spec=lambda wildcards: chunk_job(wildcards)["spec"],
        code=lambda wildcards: chunk_job(wildcards)["code"],
        seed=PROJECT.seed,
        command=run_command,
    log:
        RESULTS + "/logs/data/{family}/{experiment}/{estimator}/{chunk}.log",
    benchmark:
        RESULTS + "/benchmarks/data/{family}/{experiment}/{estimator}/{chunk}.tsv"
    conda:
        environment
    threads: lambda wildcards: resources_of(wildcards)["threads"]
    resources:
        mem_mb=memory_of,
        runtime=minutes_of,
    message:
        "{wildcards.family}/{wildcards.experiment}: {wildcards.estimator} {wildcards.chunk}"
    shell:
        SHELL


# A kill can leave data that their readers have done with; nothing would delete them later, since no job reads them again.
onsuccess:
    if not workflow.storage_settings.notemp:
        for path in PROJECT.leftover_data():
            if str(path) not in workflow.dag_settings.targets:
                print(f"Removing temporary output {path}, left by an earlier run.", file=sys.stderr)
                path.unlink()
    print_aside()


onerror:
    print_aside()
