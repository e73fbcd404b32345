# One target for everything of a family: snakemake potts_mlm.
for family in PROJECT.experiments:

    rule:
        name:
            family
        input:
            PROJECT.targets(family),
        localrule: True
