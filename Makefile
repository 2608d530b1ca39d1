# Needs only make, Python 3.11 or later and pip. `make help` lists the targets.
# What runs here never sees your own home: every recipe works in a scratch one.

PYTHON ?= python3
VENV ?= .venv
DATA ?=
SIZES ?= 20000 100000 1000000
SOAK_KILLS ?= 5000
FUZZ_RUNS ?= 2000000
WORKERS ?= 2
PYTEST_ARGS ?=

ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
STAMP := $(VENV)/.installed
RESULTS := bench/results
CODE := src tests bench docs

# One scratch home per recipe, gone when the recipe ends.
SCRATCH = scratch=$$(mktemp -d) && trap 'rm -rf "$$scratch"' EXIT && export HOME="$$scratch" \
	CLAUDE_MEMORY_HOME="$$scratch/memory" && unset CLAUDE_MEMORY_STORE CLAUDE_MEMORY_DISABLE

.DEFAULT_GOAL := help
.PHONY: help venv run test check bench soak e2e docs fmt clean

help: ## list the targets
	@grep -E '^[a-z0-9]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | while IFS="$$(printf '\t')" read -r name text; do \
		printf '  %-7s %s\n' "$$name" "$$text"; done

venv: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

run: $(STAMP) ## sample events through the real hook program, then a question: the whole path
	@$(SCRATCH) && $(BIN)/claude-memory demo

test: $(STAMP) ## every test but the long ones
	@$(SCRATCH) && $(BIN)/python -m pytest -n $(WORKERS) -m "not soak and not bench and not e2e" $(PYTEST_ARGS)

check: $(STAMP) ## format, lint, types
	@$(BIN)/ruff format --check $(CODE)
	@$(BIN)/ruff check $(CODE)
	@$(BIN)/mypy

bench: $(STAMP) ## speed and footprint; with DATA=folder also search quality; JSON in bench/results
	@mkdir -p $(RESULTS)
	@$(SCRATCH) && $(BIN)/python bench/hook_ratio.py --json > $(RESULTS)/hook_ratio.json \
		&& echo "capture hook beside a bare interpreter: $$(cat $(RESULTS)/hook_ratio.json)"
	@$(SCRATCH) && $(BIN)/python bench/startup.py --json $(RESULTS)/startup.json
	@$(SCRATCH) && $(BIN)/python bench/embed_speed.py --json $(RESULTS)/embed_speed.json
	@$(SCRATCH) && $(BIN)/python bench/scale.py "$$scratch/stores" --sizes $(SIZES) --json $(RESULTS)/scale.json
	@$(SCRATCH) && $(BIN)/python bench/hook_answers.py --json $(RESULTS)/hook_answers.json
	@$(SCRATCH) && $(BIN)/python bench/import_speed.py "$$scratch/history" --json $(RESULTS)/import_speed.json
	@$(SCRATCH) && $(BIN)/python bench/mcp_cost.py "$$scratch/mcp" --json $(RESULTS)/mcp_cost.json
	@PYTHON=$(PYTHON) bash bench/footprint.sh $(RESULTS)/footprint.json
ifneq ($(DATA),)
	@$(SCRATCH) && $(BIN)/python bench/quality.py "$(DATA)" --json $(RESULTS)/quality.json
else
	@echo "search quality not measured: give the folder with the sets, make bench DATA=folder"
endif

soak: $(STAMP) ## kill -9 over every operation, SOAK_KILLS times (5000), and FUZZ_RUNS fuzzed inputs (2 million)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary atheris \
		-c constraints.txt -e '.[dev,fuzz]' || echo "no atheris here: inputs are fuzzed by chance alone"
	@$(SCRATCH) && SOAK_KILLS=$(SOAK_KILLS) FUZZ_RUNS=$(FUZZ_RUNS) $(BIN)/python -m pytest -m soak -s $(PYTEST_ARGS)

e2e: $(STAMP) ## as a user gets it: the wheel in a new environment, then the real client (needs npm)
	@scratch=$$(mktemp -d) && trap 'rm -rf "$$scratch"' EXIT && rm -rf build \
		&& $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir "$$scratch/dist" . && rm -rf build \
		&& $(PYTHON) -m venv "$$scratch/venv" \
		&& "$$scratch/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
			-c constraints.txt "$$scratch"/dist/*.whl \
		&& export HOME="$$scratch" CLAUDE_MEMORY_COMMAND="$$scratch/venv/bin/claude-memory" \
		&& $(BIN)/python -m pytest tests/acceptance -k cli $(PYTEST_ARGS)
	@$(SCRATCH) && if command -v npm > /dev/null; then $(BIN)/python -m pytest -m e2e tests/e2e $(PYTEST_ARGS); \
		else echo "the real client was not tested: there is no npm"; fi

docs: $(STAMP) ## write the generated parts of docs/ anew
	@$(BIN)/python docs/generate.py

fmt: $(STAMP) ## format and fix what can be fixed
	@$(BIN)/ruff format $(CODE)
	@$(BIN)/ruff check --fix $(CODE)

clean: ## remove everything that was made here
	rm -rf $(VENV) .e2e build dist $(RESULTS) .pytest_cache .mypy_cache .ruff_cache .hypothesis src/*.egg-info
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +
