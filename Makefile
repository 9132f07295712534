# Everything that tensortap needs beside Go, Node, Python, make and a C compiler is fetched into the tree, pinned.
SHELL := /bin/bash -o pipefail
.DEFAULT_GOAL := help

TOOLS   := $(CURDIR)/.tools
BIN     := $(CURDIR)/bin/tensortap
LIB     := internal/embedded/libchdb
ENGINE  := $(LIB)/node_modules/@chdb/lib-linux-x64-gnu/libchdb.so
PYTHON  := $(TOOLS)/venv/bin/python
WEB     := web
PAGE    := $(WEB)/dist/page/index.html
KERNEL  := producers/torch/src/tensortap/_stats/statistics.so
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# Packages in which things happen at once: their tests run under the race detector, and only so but for ON_SLOW_DISKS. internal/dev/corpus is left out, whose cases ask the engine for minutes.
RACED   := ./pipelines/... ./consumers/... ./producers/agent/... ./internal/embedded/... ./internal/system/... ./analysis/compare/... ./analysis/judging/... ./analysis/pair ./analysis/rows/... ./analysis/watch/...
# Tests of these packages that write to a slow disk, one thing after the other: the race detector has nothing to find there and takes ten times as long.
SLOW_DISKS := ./producers/agent ./consumers/parquet ./internal/embedded
ON_SLOW_DISKS := Power|FullDisk|KillsLose|StoppedAnywhere|PyarrowRead
DUMPS   := producers/msprobe/testdata/dumps

GOLANGCI_LINT := $(TOOLS)/golangci-lint-v2.15.0
DUPL          := $(TOOLS)/dupl-v1.1.0

export TENSORTAP_PYTHON := $(PYTHON)
# Hundreds of processes import PyTorch: Python keeps what it compiled.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help
help: ## print the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /\1\t/' | expand -t 14

.PHONY: build
build: $(KERNEL) $(PAGE) ## build bin/tensortap, with the collector and the page in it
	$(BUILD)

BUILD := go build -ldflags '-s -w -X main.version=$(VERSION)' -o $(BIN) ./cmd/tensortap

# The page takes longer to build than all else that a first report needs, and that report does not show it.
.PHONY: program
program: $(KERNEL)
	$(BUILD)

.PHONY: web
web: $(PAGE) ## build the page that the program serves: docs/page.md
$(PAGE): $(WEB)/node_modules/done $(shell git ls-files -co --exclude-standard $(WEB) | grep -vE '/dist/|/browser/|\.test\.ts$$|\.go$$')
	cd $(WEB) && npm run --silent build
	@touch $@
$(WEB)/node_modules/done: $(WEB)/package-lock.json
	npm ci --ignore-scripts --no-audit --no-fund --prefix $(WEB)
	@touch $@

.PHONY: test-web
test-web: $(WEB)/node_modules/done ## types of the page, and what decides in it; e2e/page opens it in a browser
	cd $(WEB) && npm run --silent check && npm test --silent

.PHONY: lint-web
lint-web: $(WEB)/node_modules/done
	cd $(WEB) && npm run --silent lint

.PHONY: test-page
test-page: build engine ## stories of the page in a browser, which make test goes through, too
	go test -count=1 -timeout 20m -v -run TestThePageInABrowser ./e2e/page/

.PHONY: screenshots
screenshots: build engine ## keep new pictures of the page's views, to which the stories hold it: docs/pictures/page
	TENSORTAP_PICTURES=keep go test -count=1 -run TestThePageInABrowser ./e2e/page/

.PHONY: engine
engine: $(ENGINE) ## fetch the ClickHouse engine, pinned by its hash
$(ENGINE): $(LIB)/package-lock.json
	npm ci --ignore-scripts --no-audit --no-fund --prefix $(LIB)
	@chmod go-w $@ && touch $@

.PHONY: kernel
kernel: $(KERNEL) ## the collector's statistics in C, for a model's process
$(KERNEL): $(wildcard producers/torch/csrc/*)
	$(CC) -std=gnu11 -O3 -ffp-contract=off -fno-math-errno -Wall -Wextra -Wno-psabi -fPIC -fvisibility=hidden -shared \
		-o $@.new $(filter %.c,$^) -lpthread -lm
	@mv $@.new $@

.PHONY: demo
demo: ## from nothing to a report: publish two real dumps, say where they first differ
	@$(MAKE) --no-print-directory -j2 engine program
	@rm -rf $(TOOLS)/demo && mkdir -p $(TOOLS)/demo
	@for c in B02_weight_mix B00_golden_mix; do tar xzf $(DUMPS)/$$c.tar.gz -C $(TOOLS)/demo; done
	@bin/tensortap compare .tools/demo/B02_weight_mix/dump/step0 .tools/demo/B00_golden_mix/dump/step0; test $$? -eq 1
	@echo; echo "On its page, http://127.0.0.1:7070/ unless it says otherwise, until Ctrl-C: make build && bin/tensortap up --demo"

PREFIX ?= $(HOME)/.local
.PHONY: install
install: build engine ## copy the program to PREFIX/bin, ~/.local/bin if not given, and its engine to where that looks
	install -D -m 755 $(BIN) $(PREFIX)/bin/tensortap
	$(PREFIX)/bin/tensortap engine install --from $(ENGINE)

# These take longest, and begin first, so that no core is idle while the last one ends.
LONGEST := ./e2e/delivery ./e2e/collector ./e2e/scene ./e2e/answers ./sql ./e2e/roles ./internal/dev/corpus

# Vet is one of the linters. Without symbols for debuggers, each of some hundred and fifty programs is linked in half the time.
GO_TEST := go test -vet=off -ldflags='-s -w'

# Of make test: packages; of make soak: its parts.
WHAT ?=

.PHONY: test
test: build engine venv venv-torch kernel ## run all tests, against the real engine, the real NATS server and PyTorch; those of some packages with WHAT=./consumers/...
ifneq ($(WHAT),)
	$(GO_TEST) -timeout 40m $(WHAT)
else
	$(GO_TEST) -timeout 40m $(LONGEST) $$(go list ./... | grep -vxF "$$(go list $(RACED) $(LONGEST))")
	$(GO_TEST) -timeout 40m -run '$(ON_SLOW_DISKS)' $(SLOW_DISKS)
	$(MAKE) -j2 --output-sync=target test-race test-torch test-web
endif

.PHONY: fetch
fetch: engine venv venv-torch wheels neighbours $(WEB)/node_modules/done ## all that tests need of the registries

.PHONY: test-race
test-race: engine kernel ## where things happen at once, under the race detector
	$(GO_TEST) -race -timeout 30m -skip '$(ON_SLOW_DISKS)' $(RACED)

.PHONY: lint
lint: $(GOLANGCI_LINT) $(DUPL) lint-web ## linters, and code that stands twice in the whole tree
	$(GOLANGCI_LINT) config verify
	$(GOLANGCI_LINT) run ./...
	$(GOLANGCI_LINT) fmt --diff ./...
	git ls-files '*.go' | grep -v -E '_test\.go$$|_gen\.go$$|^schemas/[a-z_]+\.go$$|^internal/health/' | $(DUPL) -files -t 100 -plumbing | tee $(TOOLS)/duplicates
	@test ! -s $(TOOLS)/duplicates

HELM        := $(TOOLS)/helm-v4.3.1
KUBECONFORM := $(TOOLS)/kubeconform-v0.8.0
KUBERNETES  := $(TOOLS)/kubernetes-1.37.0

.PHONY: lint-deploy
lint-deploy: $(HELM) $(KUBECONFORM) $(KUBERNETES)/done ## the Helm chart, by helm, and what it becomes of several values, by the schemas of Kubernetes; building helm takes minutes
	e2e/deploy/testdata/lint.sh $(HELM) $(KUBECONFORM) $(KUBERNETES)

$(HELM):
	GOFLAGS= GOBIN=$(TOOLS)/helm go install helm.sh/helm/v4/cmd/helm@v4.3.1
	@mv $(TOOLS)/helm/helm $@ && rmdir $(TOOLS)/helm

$(KUBECONFORM):
	GOFLAGS= GOBIN=$(TOOLS)/kubeconform go install github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0
	@mv $(TOOLS)/kubeconform/kubeconform $@ && rmdir $(TOOLS)/kubeconform

# The schemas are those of a package of Python. Its own program finds their definitions by an address, kubeconform beside them.
$(KUBERNETES)/done:
	@rm -rf $(KUBERNETES) && mkdir -p $(KUBERNETES)
	python3 -m pip download --quiet --disable-pip-version-check --no-deps -d $(KUBERNETES) kubernetes-validate==1.37.0
	python3 -m zipfile -e $(KUBERNETES)/*.whl $(KUBERNETES)/unpacked
	set -e; for version in v1.29.0 v1.37.0; do \
		mv $(KUBERNETES)/unpacked/kubernetes_validate/kubernetes-json-schema/$$version-local-strict $(KUBERNETES)/$$version; \
		sed -i -e 's#"/api/_definitions.json#"_definitions.json#' -e 's#^  "\$$id": #  "$$comment": #' $(KUBERNETES)/$$version/*.json; \
	done
	@rm -rf $(KUBERNETES)/unpacked $(KUBERNETES)/*.whl && touch $@

.PHONY: generate
generate: ## write what is derived: rows, tables, the reference, licences
	@mkdir -p $(TOOLS)
	go run ./schemas/internal/generate
	go run ./internal/dev/reference > docs/views.md
	go run ./internal/dev/grafana/generate deploy/grafana
	go run ./internal/dev/thirdparty > $(TOOLS)/THIRD_PARTY.md && mv $(TOOLS)/THIRD_PARTY.md THIRD_PARTY.md

.PHONY: check
check: lint test ## everything that CI runs
	$(MAKE) generate
	git diff --exit-code -- schemas sql/tables docs/views.md deploy/grafana THIRD_PARTY.md producers/torch/src/tensortap/_spool/layout.py producers/torch/csrc/layout.h

# Of the soak: how long, how many kills in all, how long the database is away; WRITE=1 writes its figures into the document.
MINUTES ?= 60
KILLS   ?= 1000
OUTAGE  ?= 10m
WRITE   ?=

SOAKS := hour kills crashes damage tests dashboards torch roles month load

.PHONY: soak
soak: ## what make test has no time for: WHAT=hour, kills, crashes, damage, tests, dashboards, torch, roles, month, load or all; the first two if not given: docs/RELIABILITY.md
	$(MAKE) $(addprefix soak-,$(patsubst all,$(SOAKS),$(or $(WHAT),hour kills)))

.PHONY: soak-hour
soak-hour: build engine ## an hour under load: kills of every part, damage to every store, the database away
	@mkdir -p $(TOOLS)
	TENSORTAP_SOAK_MINUTES=$(MINUTES) TENSORTAP_SOAK_TOTAL=$(KILLS) TENSORTAP_SOAK_OUTAGE=$(OUTAGE) TENSORTAP_SOAK_SAMPLES=$(TOOLS)/soak.csv \
		$(if $(WRITE),TENSORTAP_SOAK_REPORT=$(CURDIR)/docs/RELIABILITY.md) go test -count=1 -timeout 24h -v ./e2e/soak/

.PHONY: soak-kills
soak-kills: build engine ## kills in single tests, a tenth of KILLS each
	TENSORTAP_SOAK=1 TENSORTAP_SOAK_KILLS=$$(($(KILLS) / 10)) go test -count=1 -timeout 60m -v -run 'Soak|Kill|BadNetwork' ./e2e/delivery/ ./consumers/...

.PHONY: soak-crashes
soak-crashes: build ## a kill and a loss of power at every single operation on the disk, where make test takes a sample
	TENSORTAP_SOAK=1 go test -count=1 -timeout 60m -v -run 'Power|Crash' ./internal/durable/ ./internal/embedded/ ./consumers/parquet/ ./producers/agent/

.PHONY: soak-damage
soak-damage: build engine ## every kind of file damaged in every way, while up is stopped and while it runs, where make test takes a sample: docs/damage.md
	TENSORTAP_SOAK=1 go test -count=1 -timeout 60m -v -run 'TestEveryDamageIsNamedAndMended' ./e2e/delivery/

.PHONY: soak-tests
soak-tests: build engine venv venv-torch kernel ## all of e2e/collector and e2e/delivery, with the tests and cases that make test leaves out
	TENSORTAP_SOAK=1 go test -count=1 -timeout 3h ./e2e/collector/ ./e2e/delivery/

VERSITYGW := $(TOOLS)/versitygw-v1.8.0

.PHONY: test-s3
test-s3: build engine $(VERSITYGW) ## the archive's copy in a bucket, against a real S3-compatible server: docs/archive.md
	TENSORTAP_S3_SERVER=$(VERSITYGW) go test -count=1 -timeout 20m -v ./consumers/parquet/mirror/
	TENSORTAP_S3_SERVER=$(VERSITYGW) go test -count=1 -timeout 20m -v -run 'TestTheBucketAlone|TestEveryReportIsTheSame' ./e2e/delivery/

$(VERSITYGW):
	@mkdir -p $(TOOLS)
	GOFLAGS= GOBIN=$(TOOLS)/versitygw go install github.com/versity/versitygw/cmd/versitygw@v1.8.0
	@mv $(TOOLS)/versitygw/versitygw $@ && rmdir $(TOOLS)/versitygw

COLLECTOR := $(TOOLS)/otel-collector-v0.165.0

.PHONY: test-otel
test-otel: build engine $(COLLECTOR) ## spans of a batch, from publish to query, against OpenTelemetry's own receiver: docs/health.md
	TENSORTAP_OTEL_COLLECTOR=$(COLLECTOR) go test -count=1 -timeout 20m -v -run TestWhatASystemTellsOfItself ./e2e/health/

# A program of its own module: what it needs is three times all of tensortap's.
$(COLLECTOR): $(wildcard e2e/health/testdata/collector/*)
	@mkdir -p $(TOOLS)
	cd e2e/health/testdata/collector && go build -o $@ .

ROLES_MINUTES ?= 15

.PHONY: soak-roles
soak-roles: build engine ## ROLES_MINUTES of a fleet: three NATS servers, two engines, four consumers, killed, frozen and cut off by turns: docs/roles.md
	TENSORTAP_SOAK=1 TENSORTAP_ROLES_MINUTES=$(ROLES_MINUTES) go test -count=1 -timeout 12h -v -run 'TestSoak$$|TestAStreamOfThreeServers' ./e2e/roles/

DAYS ?= 30

.PHONY: month soak-month
soak-month: month
month: MINUTES = 2
month: build engine ## DAYS of a fleet of 64 ranks, 30 of 2 MINUTES each if not given: each part dies each day, runs go by rules, flaws are planted and told: docs/month.md
	@mkdir -p $(TOOLS)
	TENSORTAP_MONTH_DAYS=$(DAYS) TENSORTAP_MONTH_MINUTES=$(MINUTES) TENSORTAP_MONTH_SAMPLES=$(TOOLS)/month.csv \
		$(if $(WRITE),TENSORTAP_MONTH_REPORT=$(CURDIR)/docs/month.md) go test -count=1 -timeout 24h -v -run 'TestMonth$$' ./e2e/roles/

# Of the load: how many agents, and for how long each figure is measured.
AGENTS  ?= 256
MEASURE ?= 60s

.PHONY: load soak-load
soak-load: load
load: build engine ## AGENTS agents, 256 if not given, at the greatest rate that holds, at twice that, and while parts of the fleet fail: docs/BENCHMARKS-load.md, and the sizes of docs/OPERATIONS.md
	go test -count=1 -timeout 6h -v -run 'TestLoad$$' ./e2e/load -agents $(AGENTS) -processes 4 -tensors 0 -window $(MEASURE) -rate 0 -write $(CURDIR)/docs/BENCHMARKS-load.md
	go test -count=1 ./internal/dev/sizing -update

STEPS  ?= 3000
TOKENS ?= 10000

.PHONY: soak-torch
soak-torch: venv-torch kernel ## STEPS steps and TOKENS tokens under the collector, 3,000 and 10,000 if not given: memory stays flat, nothing is left; writes docs/BENCHMARKS-torch.md
	$(COLLECT) PYTHONPATH=src $(TORCH) bench/soak.py --steps $(STEPS) --tokens $(TOKENS) --write ../../docs/BENCHMARKS-torch.md

FUZZTIME ?= 10m

.PHONY: fuzz
fuzz: engine ## each decoder and each consumer under random input, FUZZTIME each, 10m if not given
	set -e; git grep -E '^func Fuzz' -- '*_test.go' | sed -E 's/^([^:]*)\/[^\/]*:func (Fuzz[A-Za-z]*).*/\1 \2/' | while read -r folder target; do \
		go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s ./$$folder; \
	done

SEEDS ?= 1000000

.PHONY: simulation
simulation: ## SEEDS worlds, a million if not given, of publishers, agent, stream, writers, database and disk in one process: hours; -seed N repeats one
	go test -count=1 -timeout 0 ./e2e/simulation -seeds $(SEEDS)

# The commit that the bench holds this program against, by turns.
BEFORE ?= d544c38

.PHONY: before
before: $(TOOLS)/before/$(BEFORE)/bin/tensortap ## the program as it was at commit BEFORE
$(TOOLS)/before/$(BEFORE)/bin/tensortap:
	@rm -rf $(TOOLS)/before/$(BEFORE) && mkdir -p $(TOOLS)/before/$(BEFORE)
	git archive $(BEFORE) | tar x -C $(TOOLS)/before/$(BEFORE)
	cd $(TOOLS)/before/$(BEFORE) && go build -ldflags '-s -w' -o bin/tensortap ./cmd/tensortap

.PHONY: bench
bench: build engine before ## the figures of docs/BENCHMARKS.md, beside those of the program as it was at commit BEFORE
	go run ./internal/dev/bench -before $(TOOLS)/before/$(BEFORE)/bin/tensortap

.PHONY: bench-web
bench-web: build engine ## the page in a browser, on a comparison of 100,000 ops each side, and beside TensorBoard where TENSORTAP_MSPROBE names msProbe: docs/BENCHMARKS-web.md
	go run ./internal/dev/bench -only page,tensorboard -write docs/BENCHMARKS-web.md

# Of a run; there are two.
ROWS ?= 5000000

.PHONY: bench-dashboards
bench-dashboards: engine ## how long each query of Grafana's dashboards and each alert rule takes over two runs of ROWS tensors each, 5 million if not given: docs/BENCHMARKS-dashboards.md
	TENSORTAP_BENCH_DASHBOARDS=$(CURDIR)/docs/BENCHMARKS-dashboards.md TENSORTAP_BENCH_ROWS=$(ROWS) go test -count=1 -timeout 30m -v -run TestDashboardsOverMillionsOfTensors ./internal/dev/grafana/

.PHONY: soak-dashboards
soak-dashboards: engine ## every panel, variable and alert rule for Grafana, over several ranges and choices, where make test asks each once
	TENSORTAP_SOAK=1 go test -count=1 -timeout 30m ./internal/dev/grafana/

.PHONY: pictures
pictures: engine ## each of Grafana's dashboards as a picture, of what its queries answer: docs/pictures
	@mkdir -p docs/pictures
	TENSORTAP_PICTURES=$(CURDIR)/docs/pictures go test -count=1 -run TestDashboardsAreDrawn ./internal/dev/grafana/

.PHONY: venv
venv: $(TOOLS)/venv/done ## Python readers of the archive, for tests
$(TOOLS)/venv/done: consumers/parquet/testdata/requirements.txt
	python3 -m venv $(TOOLS)/venv
	$(TOOLS)/venv/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

UV      := $(TOOLS)/uv/bin/uv
TORCH   := $(TOOLS)/torch/bin/python
COLLECT := cd producers/torch && OMP_NUM_THREADS=1
# Tests that fork do so before others have started PyTorch's threads, which a child does not have.
FORKING := tests/test_survival.py tests/test_distributed.py tests/test_bit_equal.py tests/test_soak.py tests/test_halting.py tests/test_on_nan_sharded.py

.PHONY: venv-torch
venv-torch: $(TOOLS)/torch/done ## PyTorch, pinned, for the collector's tests: 5 GB, a minute
$(TOOLS)/torch/done: producers/torch/requirements-test.txt | $(UV)
	$(UV) venv --quiet --clear --python python3 $(TOOLS)/torch
	$(UV) pip install --quiet --no-deps --python $(TORCH) -r $<
	@touch $@
$(UV):
	python3 -m venv $(TOOLS)/uv
	$(TOOLS)/uv/bin/pip install --quiet --disable-pip-version-check uv==0.13.9

.PHONY: wheels
wheels: $(TOOLS)/wheels/done ## the engines' wheels, pinned, whose sources tests read: 400 MB, nothing is installed
$(TOOLS)/wheels/done: producers/torch/tests/engines.txt | $(UV)
	@rm -rf $(TOOLS)/wheels
	$(TOOLS)/uv/bin/pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --python-version 3.11 -d $(TOOLS)/wheels -r $<
	@touch $@

.PHONY: neighbours
neighbours: $(TOOLS)/neighbours/done ## other tools that get into Python processes, pinned: 100 MB
$(TOOLS)/neighbours/done: producers/torch/tests/neighbours.txt | $(UV)
	$(UV) venv --quiet --clear --python python3 $(TOOLS)/neighbours
	$(UV) pip install --quiet --no-deps --python $(TOOLS)/neighbours/bin/python -r $<
	@touch $@

.PHONY: test-torch-pytest
test-torch-pytest:
	$(COLLECT) $(TORCH) -m pytest $(FORKING:%=--ignore %)
	$(COLLECT) $(TORCH) -m pytest tests/test_survival.py
	$(COLLECT) $(TORCH) -m pytest $(filter-out tests/test_survival.py,$(FORKING))

.PHONY: test-torch
test-torch: venv-torch kernel wheels neighbours ## tests of the collector, and its types
	$(MAKE) test-torch-pytest
	$(COLLECT) $(TORCH) -m mypy
	$(COLLECT) $(TORCH) -m pyright --pythonpath $(TORCH)

.PHONY: test-same
test-same: venv-torch kernel ## that programs of all kinds do the same with the collector: docs/same.md; some minutes
	cd producers/torch && TENSORTAP_TEST_SAME=all $(TORCH) -m pytest tests/test_same.py

.PHONY: same
same: venv-torch kernel ## write docs/same.md: all programs, at all levels
	cd producers/torch && PYTHONPATH=tests $(TORCH) -m same.comparing ../../docs/same.md

.PHONY: test-torch-inductor
test-torch-inductor: venv-torch kernel ## that Inductor's code computes the same bits under a tap: its C++ compiler takes minutes, so make test leaves this out
	$(COLLECT) $(TORCH) -m pytest -m inductor tests/test_bit_equal.py

# Versions for uv to find or fetch, or paths.
PYTHON_OLDEST ?= 3.10
PYTHON_NEWEST ?= 3.13

.PHONY: test-torch-versions
test-torch-versions: kernel wheels neighbours | $(UV) ## the collector's tests on the oldest PyTorch and Python, and on the newest: 10 GB
	set -e; for pair in $(PYTHON_OLDEST):oldest $(PYTHON_NEWEST):test; do \
		venv=$(TOOLS)/torch-$${pair#*:}; \
		$(UV) venv --quiet --clear --python $${pair%:*} $$venv; \
		$(UV) pip install --quiet --python $$venv/bin/python -r producers/torch/requirements-$${pair#*:}.txt; \
		$(MAKE) test-torch-pytest TORCH=$$venv/bin/python; \
	done

.PHONY: wheel
wheel: $(TOOLS)/release/done ## the collector as a wheel, in bin
	$(UV) build --quiet --wheel --no-build-isolation --python $(TOOLS)/release/bin/python -o bin producers/torch

RELEASE := $(CURDIR)/bin/release

.PHONY: release
release: $(TOOLS)/release/done ## wheels, sdist and programs for x86-64 and aarch64, of the commit, with checksums and bill of materials: docs/RELEASE.md
	internal/dev/release/release.sh $(UV) $(TOOLS)/release/bin/python $(RELEASE)
$(TOOLS)/release/done: producers/torch/requirements-release.txt | $(UV)
	$(UV) venv --quiet --clear --python python3 $(TOOLS)/release
	$(UV) pip install --quiet --no-deps --python $(TOOLS)/release/bin/python -r $<
	@touch $@

# Runs programs of aarch64, as "qemu-aarch64 -L FOLDER" with that machine's C library in FOLDER.
QEMU ?=

.PHONY: test-release
test-release: release engine kernel venv-torch ## that two builds are alike, and what was built works where nothing else is; with QEMU=, for aarch64, too
	internal/dev/release/release.sh $(UV) $(TOOLS)/release/bin/python $(TOOLS)/release-again
	diff -r $(RELEASE) $(TOOLS)/release-again
	TENSORTAP_RELEASE=$(RELEASE) TENSORTAP_UV=$(UV) TENSORTAP_TORCH=$(TORCH) TENSORTAP_ZIG="$(TOOLS)/release/bin/python -m ziglang" TENSORTAP_QEMU="$(QEMU)" \
		go test -count=1 -timeout 30m -v ./e2e/release/

# The PyTorch and Triton of the machine, where this one's are not installed: nothing is fetched.
HERE := $(if $(wildcard $(TORCH)),$(TORCH),python3)

.PHONY: gpu
gpu: kernel ## whether the collector is right on a GPU, and what it costs there, in less than eight minutes: docs/BENCHMARKS-gpu.md; without a GPU the page says so
	$(COLLECT) PYTHONPATH=src $(HERE) bench/gpu.py ../../docs/BENCHMARKS-gpu.md

.PHONY: gpu-dry
gpu-dry: kernel ## the same checks in Triton's interpreter, without a GPU, and launches and microseconds of each tensor
	$(COLLECT) PYTHONPATH=src $(HERE) bench/gpu.py --dry ../../docs/BENCHMARKS-gpu.md

.PHONY: bench-torch
bench-torch: venv-torch kernel build engine ## what the collector costs: docs/BENCHMARKS-torch.md
	cd producers/torch && PYTHONPATH=src $(TORCH) bench/overhead.py ../../docs/BENCHMARKS-torch.md
	go run ./internal/dev/bench -only collector -append docs/BENCHMARKS-torch.md
	$(COLLECT) PYTHONPATH=src $(TORCH) bench/aten.py >> ../../docs/BENCHMARKS-torch.md
	$(COLLECT) PYTHONPATH=src $(TORCH) bench/decoding.py >> ../../docs/BENCHMARKS-torch.md
	$(COLLECT) PYTHONPATH=src $(TORCH) bench/notes.py --write ../../docs/BENCHMARKS-torch.md
	$(COLLECT) PYTHONPATH=src $(TORCH) bench/token_rows.py --write ../../docs/BENCHMARKS-torch.md
	$(COLLECT) PYTHONPATH=src $(TORCH) bench/raw_tensors.py >> ../../docs/BENCHMARKS-torch.md

.PHONY: bench-raw
bench-raw: venv-torch kernel ## how fast raw tensors go to the disk, beside one file
	$(COLLECT) PYTHONPATH=src $(TORCH) bench/raw_tensors.py

.PHONY: bench-tokens
bench-tokens: venv-torch kernel engine ## what level tokens costs a training step, into docs/BENCHMARKS-torch.md, and how long ten million of its rows are compared
	$(COLLECT) PYTHONPATH=src $(TORCH) bench/token_rows.py --write ../../docs/BENCHMARKS-torch.md
	go test -run '^$$' -bench TokensOverTenMillionRows -benchtime 5x ./sql

.PHONY: bench-aten
bench-aten: venv-torch kernel ## what level aten costs beside lines of JSON
	$(COLLECT) PYTHONPATH=src $(TORCH) bench/aten.py

ENGINES := $(TOOLS)/engines

.PHONY: engines
engines: $(ENGINES)/done ## vLLM and SGLang, pinned, each in an environment of its own: 13 GB, two minutes
$(ENGINES)/done: $(wildcard e2e/engines/testdata/*.txt) e2e/engines/testdata/install.sh | $(UV)
	e2e/engines/testdata/install.sh $(UV) $(ENGINES)
	@touch $@

.PHONY: engines-diffusion
engines-diffusion: $(ENGINES)/diffusion/done ## what SGLang's workers of diffusion import, in an environment above SGLang's: 100 MB
$(ENGINES)/diffusion/done: $(wildcard e2e/engines/testdata/diffusion/*.txt) e2e/engines/testdata/diffusion/install.sh | $(ENGINES)/done
	e2e/engines/testdata/diffusion/install.sh $(UV) $(ENGINES)
	@touch $@

.PHONY: test-engines
test-engines: build engine kernel engines engines-diffusion ## vLLM and SGLang at work, on the CPU: more than an hour; writes what came of it into docs/ENGINES.md
	TENSORTAP_ENGINES=$(ENGINES) TENSORTAP_ENGINES_REPORT=$(CURDIR)/docs/ENGINES.md go test -count=1 -timeout 180m -v -run 'TestEngines$$|TestEngineScenes$$|TestEngineConditions$$|TestEngineReplay$$|TestEngineOnNaN$$|TestEngineDiffusion$$|TestEngineCross$$|TestEngineTokens$$|TestEngineRollout$$|TestEngineReplicas$$|TestEngineRestart$$|TestEngineException$$' ./e2e/engines/
	TENSORTAP_ENGINES=$(ENGINES) go test -count=1 -run 'TestEnginesHaveTheModulesOfTheMaps$$' ./analysis/mapping/families/

.PHONY: bench-engines
bench-engines: build engine kernel engines ## what the collector costs in tokens a second: docs/ENGINES.md
	TENSORTAP_ENGINES=$(ENGINES) TENSORTAP_ENGINES_REPORT=$(CURDIR)/docs/ENGINES.md go test -count=1 -timeout 60m -v -run 'TestEngineOverhead$$' ./e2e/engines/

.PHONY: msprobe
msprobe: $(TOOLS)/msprobe/done ## msProbe itself, pinned, some 3 GB, for the test of parity that runs it (TENSORTAP_MSPROBE)
$(TOOLS)/msprobe/done: analysis/msprobe/msprobecsv/testdata/requirements.txt
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
	rm -rf bin $(TOOLS) $(LIB)/node_modules $(WEB)/node_modules $(WEB)/dist/page
