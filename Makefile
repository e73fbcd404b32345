# `make run` computes the figures of the papers, `make test` runs lint and all tests except those of Slurm (test-cluster), of kills
# (soak) and of the browser (test-browser). Both set up .venv first when it is not current.
SCALE ?= laptop
CORES ?= all
# papers: the figures of the four papers; all: the others too.
FIGURES ?= papers
# This figure is made first, so that a new user sees a result soon.
FIRST ?= $(shell grep -Eq '^families:.*(all|sequence_single_index)' config/config.yaml && echo ssi_fig1)
RESULTS = $(if $(filter smoke,$(SCALE)),results/smoke,results)
STAMP := .venv/.synced
UV = $(or $(shell command -v uv),.venv/bin/uv)
SNAKEMAKE = .venv/bin/snakemake --cores $(CORES) --config scale=$(SCALE) figures=$(FIGURES)

# A run takes nothing from PYTHONPATH: a module there could take the place of a package, and another copy that of this one.
run rerun report explorer: export PYTHONPATH = $(CURDIR)/src

# If the Python of the environment is missing, for example after an upgrade, the environment is made again.
ifneq ($(shell .venv/bin/python -c "print(1)" 2> /dev/null),1)
.PHONY: $(STAMP)
endif

.PHONY: run setup rerun smoke report explorer notebook test test-fast test-browser slurm cluster-generic test-cluster soak golden lint types bench publish archive docs schemas release-check clean

# The messages of Snakemake are in .snakemake/log.
run: $(STAMP)
	$(SNAKEMAKE) $(addprefix --prioritize ,$(FIRST)) -- all
	@$(MAKE) --no-print-directory -j 2 report explorer SCALE=$(SCALE) FIGURES=$(FIGURES)
	@$(SNAKEMAKE) -R landing -- landing
	@.venv/bin/attention-limits summary --scale $(SCALE)

# Only the environment.
setup: $(STAMP)

smoke: SCALE = smoke
smoke: FIGURES = all
smoke: run

# Prints the log when the report fails, and always the warnings of docutils about captions.
report: $(STAMP)
	@mkdir -p $(RESULTS)/logs
	$(SNAKEMAKE) --report $(RESULTS)/report.html > $(RESULTS)/logs/report.log 2>&1 \
	    || { status=$$?; cat $(RESULTS)/logs/report.log >&2; exit $$status; }
	@! grep --after-context=3 "^<string>" $(RESULTS)/logs/report.log >&2

# All cubes on one page for a browser, which the report links.
explorer: $(STAMP)
	@.venv/bin/attention-limits explore $(RESULTS)/cubes/*/*.nc --output $(RESULTS)/explorer.html

# The tutorials of docs/notebooks in Jupyter, as copies in notebooks/.
notebook: $(STAMP)
	$(UV) sync --quiet --locked --inexact --extra workflow --group notebook
	@mkdir -p notebooks
	for file in docs/notebooks/*.py; do \
	    copy=notebooks/$$(basename $$file .py).ipynb; \
	    test -e $$copy || .venv/bin/jupytext --quiet --to ipynb --output $$copy $$file; \
	done
	.venv/bin/jupyter lab notebooks

# Runs one rule again, and everything that depends on it: make rerun RULE=smi_gamp
rerun: $(STAMP)
	$(SNAKEMAKE) -R $(RULE) -- all landing

test: lint
	.venv/bin/pytest -n 2

# The quick tests: no subprocess, and compilation only of the tested code.
test-fast: $(STAMP)
	.venv/bin/pytest -n 2 -m "not cluster and not soak and not slow"

# The explorer in Chromium, which this target installs, as root on Debian.
test-browser: $(STAMP)
	tests/browser/install.sh
	$(UV) sync --locked --inexact --extra workflow --group browser
	.venv/bin/pytest tests/browser

# Snakemake's plugin for a queue, for the login node.
slurm cluster-generic: $(STAMP)
	$(UV) sync --locked --inexact --extra workflow --extra $@

# A real Slurm on this machine, as root on Debian; about an hour.
test-cluster: $(STAMP)
	tests/cluster/install.sh
	$(UV) sync --locked --inexact --all-extras
	.venv/bin/pytest -m cluster tests/cluster

# Sixty kills at random moments, and a smoke run with kills and random order against a plain one; half an hour.
soak: $(STAMP)
	.venv/bin/pytest -m soak -s tests/workflow

# Writes the digests of a new smoke run into tests/golden, after an intended change of numbers.
golden: $(STAMP)
	rm -rf .golden && mkdir .golden
	cd .golden && ../.venv/bin/snakemake -s ../Snakefile --cores $(CORES) --config scale=smoke families=all
	.venv/bin/python tests/golden/golden.py .golden/results/smoke
	rm -rf .golden

lint: $(STAMP)
	.venv/bin/ruff check --quiet
	.venv/bin/ruff format --check --quiet
	@found=$$(.venv/bin/snakefmt --check Snakefile workflow 2>&1) || { echo "$$found"; exit 1; }
	@found=$$(.venv/bin/lint-imports --no-cache 2>&1) || { echo "$$found"; exit 1; }
	.venv/bin/snakemake --lint --config scale=smoke
	@$(MAKE) --no-print-directory types

# The types of the public interface, of the pipeline and of the keys of every family.
types: $(STAMP)
	@.venv/bin/mypy --no-error-summary src/attention_limits/__init__.py src/attention_limits/interface src/attention_limits/pipeline \
	    $(wildcard src/attention_limits/*/specs*.py src/attention_limits/*/schema)

bench: $(STAMP)
	$(UV) sync --quiet --locked --inexact --extra workflow --group bench
	.venv/bin/python benchmarks/run.py

# The pages of docs/ as a site, into docs/_build/index.html; with REFERENCE=internal also the reference of all modules, which takes
# some minutes.
docs: $(STAMP)
	$(UV) sync --quiet --locked --inexact --extra workflow --group docs
	.venv/bin/sphinx-build --fail-on-warning --keep-going $(if $(filter internal,$(REFERENCE)),-t internal) docs docs/_build

# JSON Schema of the experiment files for editors, into config/schemas; the tables of keys and of rules, and the pages of
# estimators, into docs.
schemas: $(STAMP)
	.venv/bin/python tools/schemas.py
	.venv/bin/python tools/estimators.py
	.venv/bin/python tools/rules.py

# After `make run FIGURES=all` (and `make bench`): writes the results into the gallery, the audit, the benchmarks and the tables of
# the README; with SCALE=paper after a run at this scale.
publish: $(STAMP)
	.venv/bin/python tools/publish.py "$(RESULTS)" $(SCALE)
	.venv/bin/python tools/estimators.py --run

# After a run with FIGURES=all: one file with all cubes, their specifications and checksums, in the folder of the results;
# FAMILIES="potts_mlm" packs only the families that it names.
archive: $(STAMP)
	.venv/bin/python tools/archive.py results $(SCALE) $(FAMILIES)

# Before a release: every other target except `notebook`, with `run` at scale smoke, in a copy of the checkout in a path with a space;
# some hours.
release-check: $(STAMP)
	tests/release/check.sh

clean:
	rm -rf results .snakemake docs/_build docs/_reference

# The stamp is written last, so an incomplete environment is made again. If uv is not installed, its locked version is downloaded into
# the environment; --inexact keeps it there. The bytecode is compiled once for all jobs: where Python does not write bytecode, as in
# many containers, each job would spend two seconds on the compilation.
$(STAMP): pyproject.toml uv.lock
	@if command -v uv > /dev/null; then \
	    uv sync --locked --extra workflow --compile-bytecode; \
	else \
	    .venv/bin/python -c "" 2> /dev/null && test -x .venv/bin/uv || { rm -rf .venv .uv && python3 envs/get_uv.py .uv \
	        && .uv/uv venv --quiet --python python3 .venv && mv .uv/uv .venv/bin/uv && rmdir .uv; } \
	        && .venv/bin/uv sync --locked --inexact --extra workflow --compile-bytecode; \
	fi
	@touch $@
