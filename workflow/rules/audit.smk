# Published numbers and ours, from the cubes of all selected families: `snakemake audit`.
from attention_limits.pipeline.audit import load_published, reading_modules
from attention_limits.pipeline.provenance import PACKAGE, code_digest

try:
    PUBLISHED = load_published(FOLDER, PROJECT.experiments)
except SpecError as error:
    sys.exit(f"{error}")

# The audit of a run waits for the cubes that the run makes, and reads the others where they exist.
_MADE = {path for family in PROJECT.experiments for path in PROJECT.targets(family)}
READINGS = sorted({module for entry in PUBLISHED for module in reading_modules(entry.family)})
AUDIT = [f"{RESULTS}/audit.{kind}" for kind in ("md", "json")]


rule audit:
    input:
        sorted(
            {PROJECT.experiments[entry.family][name].cube_path(RESULTS) for entry in PUBLISHED for name in entry.cubes}
            & _MADE
        ),
    output:
        AUDIT,
    log:
        f"{RESULTS}/logs/audit.log",
    benchmark:
        f"{RESULTS}/benchmarks/audit.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        entries=text(repr(PUBLISHED)),
        code=code_digest(f"{PACKAGE}.pipeline.audit", *READINGS),
        command=audit_command,
    message:
        "audit {output[0]}"
    shell:
        SHELL
