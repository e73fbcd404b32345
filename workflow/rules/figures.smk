# One rule per figure of config/<family>/figures.yaml, with the name of the figure, which is therefore a target.
for figure in PROJECT.figures.values():

    rule:
        name:
            figure.name
        input:
            [cube.cube_path(RESULTS) for cube in figure.cubes.values()],
        output:
            pdf=figure.paths(RESULTS)[0],
            png=report(
                figure.paths(RESULTS)[1],
                caption="../report/_figure.rst",
                category=figure.family,
                labels={"figure": figure.title},
            ),
        log:
            f"{RESULTS}/logs/figures/{figure.family}/{figure.name}.log",
        benchmark:
            f"{RESULTS}/benchmarks/figures/{figure.family}/{figure.name}.tsv"
        priority: AT_ONCE
        group:
            drawing
        conda:
            ENVIRONMENT
        threads: 1
        resources:
            mem_mb=doubled(2000),
            runtime=10,
        params:
            figure=f"{figure.family}/{figure.module.rpartition('.')[2]}",
            digest=figure.digest(RUN.seed),
            cubes=[cube.digest(RUN.seed) for cube in figure.cubes.values()],
            # A new text draws the figure again, so that the report is made again.
            text=text(figure.caption.read_text(encoding="utf-8")),
            caption=caption_of(figure),
        message:
            "draw {output.pdf}"
        shell:
            "python -P -m attention_limits draw {params.figure} {input:q} --expect {params.cubes} --digest {params.digest} "
            "--output {output.pdf:q} "
            "> {log:q} 2>&1 || {{ tail -n 20 {log:q} >&2; false; }}"
