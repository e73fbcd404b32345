# One rule per figure of config/figures.yaml; the rule's name is the figure's, and so a target to ask for.

for figure in PROJECT.figures.values():

    rule:
        name:
            figure.name
        input:
            PROJECT.figure_cubes(figure.name),
        output:
            pdf=PROJECT.figure_paths(figure.name)[0],
            png=report(
                PROJECT.figure_paths(figure.name)[1],
                caption="../report/_figure.rst",
                category=figure.family,
                labels={"figure": figure.title},
            ),
        params:
            module=figure.module.rpartition(".")[2],
            digest=figure.digest(),
            caption=figure.caption.read_text(encoding="utf-8"),
            spec=PROJECT.figure_spec(figure.name),
        log:
            f"{RESULTS}/logs/figures/{figure.family}/{figure.name}.log",
        benchmark:
            f"{RESULTS}/benchmarks/figures/{figure.family}/{figure.name}.tsv"
        threads: 1
        resources:
            mem_mb=1000,
            runtime=10,
        group:
            drawing
        message:
            "draw {output.pdf}"
        shell:
            "{PROGRAM} draw {params.module} {input:q} --output {output.pdf:q} > {log:q} 2>&1"
            " || {{ status=$?; tail -n 20 {log:q} >&2; exit $status; }}"
