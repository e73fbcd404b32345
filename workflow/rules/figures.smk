# One rule per figure of config/<family>/figures.yaml, with the name of the figure, which is therefore a target.
def drawn_by(figure):
    name = f"{figure.family}/{figure.module.rpartition('.')[2]}"
    options = ["--digest", figure.digest(RUN.seed), "--output"]
    return lambda wildcards, input, output: program("draw", name, *input.cubes, *options, output.pdf, results=False)


def outdated_figure(figure):
    """As `if_outdated`, from the digest that `draw` has written into the picture."""
    digest = figure.digest(RUN.seed)
    return lambda wildcards: [OUTDATED] if digest_of_picture(figure.paths(RESULTS)[1]) not in (None, digest) else []


for figure in PROJECT.figures.values():

    rule:
        name:
            figure.name
        input:
            outdated_figure(figure),
            cubes=[cube.cube_path(RESULTS) for cube in figure.cubes.values()],
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
