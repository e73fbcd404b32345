# One rule per figure of config/<family>/figures.yaml, with the name of the figure, which is therefore a target.
def drawn_by(figure):
    name = f"{figure.family}/{figure.module.rpartition('.')[2]}"
    return lambda wildcards, input, output: program("draw", name, *input, "--output", output.pdf, results=False)


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
        group:
            drawing
        conda:
            ENVIRONMENT
        threads: 1
        resources:
            mem_mb=1000,
            runtime=10,
        params:
            digest=figure.digest(RUN.seed),
            caption=text(figure.caption.read_text(encoding="utf-8")),
            command=drawn_by(figure),
        message:
            "draw {output.pdf}"
        shell:
            SHELL
