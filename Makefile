# Everything that tensortap needs beside Go, Node, Python, make and a C compiler is fetched into the tree, pinned.
SHELL := /bin/bash -o pipefail
.DEFAULT_GOAL := help

TOOLS   := $(CURDIR)/.tools
BIN     := $(CURDIR)/bin/tensortap
LIB     := internal/embedded/libchdb
ENGINE  := $(LIB)/node_modules/@chdb/lib-linux-x64-gnu/libchdb.so
PYTHON  := $(TOOLS)/venv/bin/python
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# Packages whose tests ask the engine for minutes: the race detector would double that, and skips them.
SERIAL  := %/corpus %/msprobecsv
DUMPS   := producers/msprobe/testdata/dumps

GOLANGCI_LINT := $(TOOLS)/golangci-lint-v2.15.0
DUPL          := $(TOOLS)/dupl-v1.1.0

export TENSORTAP_PYTHON := $(PYTHON)

.PHONY: help
help: ## print the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /\1\t/' | expand -t 14

.PHONY: build
build: ## build bin/tensortap
	go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o $(BIN) ./cmd/tensortap

.PHONY: engine
engine: $(ENGINE) ## fetch the ClickHouse engine, pinned by its hash
$(ENGINE): $(LIB)/package-lock.json
	npm ci --ignore-scripts --no-audit --no-fund --prefix $(LIB)
	@touch $@

.PHONY: demo
demo: build engine ## from nothing to a report: publish two real dumps, say where they first differ
	@rm -rf $(TOOLS)/demo && mkdir -p $(TOOLS)/demo
	@for c in B02_weight_mix B00_golden_mix; do tar xzf $(DUMPS)/$$c.tar.gz -C $(TOOLS)/demo; done
	@cd $(TOOLS)/demo && { $(BIN) compare B02_weight_mix/dump/step0 B00_golden_mix/dump/step0; test $$? -eq 1; }

.PHONY: test
test: build engine venv ## run all tests, against the real engine and the real NATS server
	go test -timeout 20m ./...
	go test -race -timeout 15m ./schemas/... ./pipelines/... ./producers/... ./consumers/... $(filter-out $(SERIAL),$(shell go list ./internal/...))

.PHONY: lint
lint: $(GOLANGCI_LINT) $(DUPL) ## linters, and code that stands twice in the whole tree
	$(GOLANGCI_LINT) config verify
	$(GOLANGCI_LINT) run ./...
	$(GOLANGCI_LINT) fmt --diff ./...
	git ls-files '*.go' | grep -v -E '_test\.go$$|_gen\.go$$|^schemas/[a-z_]+\.go$$' | $(DUPL) -files -t 100 -plumbing | tee $(TOOLS)/duplicates
	@test ! -s $(TOOLS)/duplicates

.PHONY: generate
generate: ## write what is derived: rows, tables, the reference, licences
	@mkdir -p $(TOOLS)
	go run ./schemas/internal/generate
	go run ./internal/reference > docs/views.md
	go run ./internal/thirdparty > $(TOOLS)/THIRD_PARTY.md && mv $(TOOLS)/THIRD_PARTY.md THIRD_PARTY.md

.PHONY: check
check: lint test ## everything that CI runs
	$(MAKE) generate
	git diff --exit-code -- schemas sql/tables docs/views.md THIRD_PARTY.md

.PHONY: soak
soak: build engine ## at least 100 kills -9 each of publisher, whole system and engine, under load
	TENSORTAP_SOAK_KILLS=100 go test -count=1 -timeout 60m -v -run 'Soak|Killed' ./cmd/tensortap/ ./consumers/...

.PHONY: bench
bench: build engine ## the figures of docs/BENCHMARKS.md
	go run ./internal/bench

.PHONY: venv
venv: $(TOOLS)/venv/done ## Python readers of the archive, for tests
$(TOOLS)/venv/done: consumers/parquet/testdata/requirements.txt
	python3 -m venv $(TOOLS)/venv
	$(TOOLS)/venv/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

.PHONY: msprobe
msprobe: $(TOOLS)/msprobe/done ## msProbe itself, pinned, some 3 GB, for the test of parity that runs it (TENSORTAP_MSPROBE)
$(TOOLS)/msprobe/done: internal/msprobecsv/testdata/requirements.txt
	python3 -m venv $(TOOLS)/msprobe
	$(TOOLS)/msprobe/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

$(GOLANGCI_LINT):
	GOBIN=$(TOOLS)/go go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
	mv $(TOOLS)/go/golangci-lint $@

$(DUPL):
	GOBIN=$(TOOLS)/go go install github.com/mibk/dupl@v1.1.0
	mv $(TOOLS)/go/dupl $@

.PHONY: clean
clean: ## remove what was built and fetched
	rm -rf bin $(TOOLS) $(LIB)/node_modules
