# Every target sets up .venv by itself, once. For example: make run CORES=1 ARGS="--dry-run"; make setup PYTHON=python3.12
.DEFAULT_GOAL := help
.PHONY: help setup run paper open figure publish verify settings test test-all test-kernels test-slurm test-faults lint bench docs doctor lock clean

KILLS ?= 30

python := .venv/bin/python
run := $(python) -m workflow.run $(if $(CORES),--cores $(CORES))
# One BLAS thread in each process; tests of threads set their number themselves.
pytest := OPENBLAS_NUM_THREADS=1 $(python) -m pytest --numprocesses $(or $(CORES),2) --dist loadgroup

builders = $(python) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], "pip", sep="\n")'
compile = $(builders) | $(python) -m uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest \
	--generate-hashes --no-annotate --no-emit-index-url --custom-compile-command "make lock" pyproject.toml -

help:
	@awk -F ':.*## ' '/^#:/ { print "\n" substr($$0, 4) } /^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' \
		$(firstword $(MAKEFILE_LIST))

#: Reproduce the paper

setup: ## Set up .venv, as all targets do by themselves (PYTHON=python3.12)
	@sh workflow/bootstrap.sh

doctor: setup ## Say what this machine offers and which datasets are available (ARGS="--configfile …")
	@$(python) -m workflow.cli doctor $(ARGS)

run: setup ## Run the workflow on embedded data, in a minute (CORES=2, ARGS=… for Snakemake)
	@$(run) $(ARGS)

paper: setup ## Run it on the paper's data, in hours; call it again to continue (CORES=2, ARGS=…)
	@$(run) --configfile=config/paper.yaml $(ARGS)

figure: setup ## Make one table or figure (NAME=rcca); ask before hours of work (YES=1 answers)
	@$(python) -m workflow.cli figure $(NAME) $(if $(YES),--yes) $(ARGS)

open: setup ## Open the report of a run in the browser (RUN=embedded, paper, …)
	@$(python) -m webbrowser -t "file://$(CURDIR)/results/$(or $(RUN),embedded)/report.html"

clean: ## Remove .venv and the tools' caches; results and data stay
	@rm -rf .venv .venv.docs build .mypy_cache .pytest_cache .ruff_cache .hypothesis

#: Check and publish results

verify: setup ## Check results/published and recompute a sample of its jobs (MINUTES=5)
	@$(python) -m workflow.cli verify --minutes $(or $(MINUTES),5)

publish: setup ## Copy a finished run to results/published (ARGS=--render makes its pages again)
	@$(python) -m workflow.cli publish $(ARGS)

#: Develop

test: lint ## Run lint, then the tests (CORES=2 processes at a time; ARGS=… for pytest)
	@$(pytest) $(ARGS)

test-all: lint ## Run the same more thoroughly, then test-kernels: up to an hour
	@RNCA_EXAMPLES=1000 $(pytest) $(ARGS)
	@$(python) tests/kernels.py

test-kernels: setup ## Run the numerical tests under every BLAS kernel of this CPU (ARGS=… for pytest)
	@$(python) tests/kernels.py $(ARGS)

test-slurm: setup ## Run the workflow on a one-node SLURM of its own (root on Debian; installs slurm-wlm)
	@VERBOSE=1 $(python) -m pytest -m slurm tests/slurm $(ARGS)

test-faults: setup ## Kill, fill up and damage runs, and print what they survive (KILLS=30; best as root)
	@RNCA_KILLS=$(KILLS) $(python) -m pytest -m faults tests/faults $(ARGS)

lint: setup ## Check style, types and format
	@$(python) -m ruff check .
	@$(python) -m ruff format --check .
	@$(python) -m mypy
	@$(python) -m snakefmt --check Snakefile workflow

bench: setup ## Run the benchmarks (ARGS=… for the runner)
	@$(python) -m benchmarks.run $(ARGS)

docs: .venv.docs/stamp ## Build the docs site with its gallery in build/docs (ARGS=… for Sphinx)
	@OPENBLAS_NUM_THREADS=1 .venv.docs/bin/python -m sphinx --fail-on-warning --keep-going --quiet $(ARGS) docs build/docs
	@rm -rf build/docs/report && cp -R results/published build/docs/report
	@mv build/docs/report/report.html build/docs/report/index.html
	@echo build/docs/index.html

.venv.docs/stamp: docs/requirements.lock
	@python=$$(sh workflow/bootstrap.sh --find) && "$$python" -m venv --clear .venv.docs
	@.venv.docs/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r docs/requirements.lock
	@.venv.docs/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

settings: setup ## Write the tables of keys in config/README.md
	@$(python) -m workflow.cli settings

lock: setup ## Pin the dependencies in requirements.lock and docs/requirements.lock (ARGS=--upgrade)
	@$(compile) --extra workflow --extra slurm --extra dev --output-file requirements.lock $(ARGS)
	@$(compile) --extra docs --constraint requirements.lock --output-file docs/requirements.lock $(ARGS)
