# The front page of a run, which shows every picture: `snakemake landing`. `make run` makes it after everything else.
from attention_limits.pipeline.base.files import digest
from attention_limits.pipeline.base.provenance import SOURCE, code_digest


rule landing:
    input:
        rules.all.input,
    output:
        f"{RESULTS}/index.html",
    log:
        f"{RESULTS}/logs/landing.log",
    benchmark:
        f"{RESULTS}/benchmarks/landing.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=doubled(2000),
        runtime=10,
    params:
        code=code_digest("attention_limits.cli.landing", extra_files=[SOURCE / "cli" / "landing.html"]),
        texts=digest(
            [[figure.title, figure.caption.read_text(encoding="utf-8")] for figure in PROJECT.figures.values()]
        ),
        project=project_folder,
        run=run_options,
    message:
        "front page {output}"
    shell:
        "python -P -m attention_limits landing --project {params.project:q} {params.run} --output {output:q} "
        "> {log:q} 2>&1 || {{ tail -n 20 {log:q} >&2; false; }}"
