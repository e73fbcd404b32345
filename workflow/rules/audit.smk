# Published numbers and ours, from the cubes of all selected families: `snakemake audit`.
from attention_limits.pipeline.audit import audit_digest, load_published

try:
    PUBLISHED = load_published(FOLDER, PROJECT.experiments)
except SpecError as error:
    sys.exit(f"{error}")

# The audit of a run waits for the cubes that the run makes, and reads the others where they exist.
_MADE = {path for family in PROJECT.experiments for path in PROJECT.targets(family)}
AUDIT = [f"{RESULTS}/audit.{kind}" for kind in ("md", "json")]


rule audit:
    input:
        sorted(
            {PROJECT.experiments[entry.family][name].cube_path(RESULTS) for entry in PUBLISHED for name in entry.cubes}
            & _MADE
        ),
    output:
        table=AUDIT[0],
        data=AUDIT[1],
    log:
        f"{RESULTS}/logs/audit.log",
    benchmark:
        f"{RESULTS}/benchmarks/audit.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=doubled(2000),
        runtime=10,
    params:
        digest=audit_digest(PUBLISHED, PROJECT),
        families=list(PROJECT.experiments),
        project=project_folder,
        run=run_options,
    message:
        "audit {output.table}"
    shell:
        "python -P -m attention_limits audit --project {params.project:q} --families {params.families} {params.run} "
        "--output {output.table:q} "
        "> {log:q} 2>&1 || {{ tail -n 20 {log:q} >&2; false; }}"
