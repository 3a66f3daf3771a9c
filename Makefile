# `make` lists the commands.
SHELL := /bin/bash -o pipefail
VENV := .venv
PY := $(VENV)/bin
# Every profile, so that these commands see the stack whichever one it runs.
COMPOSE := docker compose --profile cpu --profile gpu --profile stock

.DEFAULT_GOAL := help
.PHONY: help up down logs status doctor test contract e2e faults hostile load fixtures fuzz fuzz-outputs equal-tokens bench sbom lint report \
	validate soak

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

up: ## bring the stack up and wait until it answers (STACK=cpu|gpu to choose)
	@stack/up.sh

down: ## stop the stack and remove its containers
	@$(COMPOSE) down

logs: ## follow the logs of all services
	@$(COMPOSE) logs --follow --tail 50

status: ## the services, their health and their memory
	@$(COMPOSE) ps --all
	@docker stats --no-stream --format 'table {{.Name}}\t{{.CPUPerc}}\t{{.MemUsage}}' $$($(COMPOSE) ps --quiet)

doctor: ## what this machine can run, and why not the rest
	@stack/install.sh python
	@stack/doctor.py

test: $(VENV)/installed ## the fast tests: no Docker, every recorded fixture
	$(PY)/pytest --junitxml=results/test/junit.xml

contract: $(VENV)/installed ## the processor as a guest of a real Dynamo: start, options, cards, workers that come and go; no Docker
	$(PY)/pytest processor/contract --junitxml=results/contract/junit.xml

e2e: contract ## the contract, and the live tests against the running stack, or one started for them; report in results/e2e
	$(PY)/pytest e2e

faults: $(VENV)/installed ## break the running stack in every way, under traffic: a table of what was answered (NAME='worker' to choose)
	$(PY)/python -m faults $(if $(NAME),'$(NAME)')

hostile: $(VENV)/installed ## what no well-meaning client sends: no 5xx, no hang, no insides shown (N=10000 SEED=0, or REPLAY=FILE)
	$(PY)/python -m hostile $(if $(REPLAY),--replay '$(REPLAY)',--count $(or $(N),10000) --seed $(or $(SEED),0))

soak: $(VENV)/installed ## mixed traffic, clients that leave, errors: memory, descriptors and latency must stay flat (MINUTES=30)
	$(PY)/python -m soak --minutes $(or $(MINUTES),30)

load: $(VENV)/installed ## four levels of load on frontend and reference, and their limits; report in results/load (ACCEPT=1 keeps it to compare with)
	$(PY)/locust -f loadtest/ --headless --only-summary --ladder 1,4,16,32 -t 150s
	$(if $(ACCEPT),rm -rf results/load-accepted && cp -r results/load results/load-accepted)

fixtures: ## record the fixtures anew from SGLang's own code (CHECK=1 fails where anything would change)
	fixtures/record/run.sh $(if $(CHECK),--check)

fuzz: ## search for a request on which processor and SGLang differ (N=20000 SEED=0, or REPLAY=FILE)
	fixtures/record/fuzz.sh requests $(if $(REPLAY),--replay $(REPLAY),--count $(or $(N),20000) --seed $(or $(SEED),0))

fuzz-outputs: ## search for an engine output that processor and SGLang read differently (N=20000 SEED=0)
	fixtures/record/fuzz.sh outputs --count $(or $(N),20000) --seed $(or $(SEED),0)

equal-tokens: $(VENV)/installed ## compare the fast tokenizer with the one that decides, on generated text (MB=50 SEED=0)
	@$(PY)/python fixtures/checkpoint/build.py results/checkpoint
	$(PY)/python processor/benchmarks/equal_tokens.py results/checkpoint --megabytes $(or $(MB),50) --seed $(or $(SEED),0)

bench: $(VENV)/installed ## what the processor costs, beside SGLang's own code and Dynamo's processors (SEED=N for the same texts, REQUESTS=3000)
	processor/benchmarks/bench.sh $(if $(SEED),--seed $(SEED)) $(if $(REQUESTS),--requests $(REQUESTS))

sbom: ## a software bill of materials for both images, in results/sbom
	@stack/sbom.py

lint: $(VENV)/installed ## ruff and mypy --strict
	$(PY)/ruff check .
	$(PY)/ruff format --check .
	$(PY)/mypy processor/src processor/conftest.py processor/tests processor/contract processor/benchmarks e2e faults hostile loadtest report soak stack stand fixtures/record fixtures/checkpoint

report: $(VENV)/installed ## put what has run into one verdict, in results/report (BASE=RESULTS shows what changed since)
	$(PY)/python -m report $(if $(BASE),--base '$(BASE)')

validate: $(VENV)/installed ## run every check, in under an hour, and report
	-@stack/install.sh browser
	$(PY)/python -m report.validate

$(VENV)/installed: requirements-dev.txt processor/pyproject.toml
	@stack/install.sh python
	python3 -m venv $(VENV)
	$(PY)/pip install --quiet --no-deps -r requirements-dev.txt
	$(PY)/pip install --quiet --no-deps --no-build-isolation --editable processor
	@touch $@
