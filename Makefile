GO      ?= go
REPORTS := $(CURDIR)/.reports
# What the tests print, and the lines of it that tell a failure.
OUTPUT   := $(REPORTS).output
FAILED   := $(REPORTS).failed
FAILURES := ^ *--- FAIL|^FAIL|^ +[a-z_]+\.go:[0-9]+: |^panic:|DATA RACE
NESTED  := bench drivers/sql examples/quickstart internal/storetest internal/tools
MODULES := . $(NESTED) $(patsubst %/go.mod,%,$(wildcard internal/testserver/*/go.mod))
# What needs no server: quick enough to be part of every check.
LOCAL       := . ./coord/... ./internal/bynames ./internal/report/... ./recipes/... ./drivers/mem/... ./conformance/netfault/...
STORE_LOCAL := ./register ./trial
SQL_LOCAL   := ^(Example|TestSQLite|TestNamespaces)
BENCH_LOCAL := . ./delay ./stats ./report ./targets ./wire ./work ./leader ./chart ./servers
# What runs without the race detector, which takes several times the processor time: suites
# in real time, whose limits a busy processor breaks, and hundreds of drivers and recipes
# that are broken on purpose. So does examples/slate. `make soak` runs the drivers' suites
# with it.
UNRACED := TestConformance.*|TestCallsFind|TestSabotage|TestRecipesThatAreBroken|TestSoakFinds.*
# What takes long and finds little more on most changes: suites on three members and with
# other settings, broken recipes, crowds. It runs without the race detector too.
LONG    := TestConformance[A-Z].*|TestSoakFinds.*|TestRecipesThatAreBroken|TestCrowd.*
# The whole suite on servers that sync each write of each session: ten minutes each.
DATABASES := TestConformance(Postgres|MariaDB|PgBouncer)
TOOL    := GOWORK=off $(GO) tool -modfile=$(CURDIR)/internal/tools/go.mod
# What microbenchmarks are compared with, if there is nothing of the same processor
# beside it; `make bench-micro MICRO_SAVE=1` replaces it.
MICRO   := bench/results/micro.txt

# What `make bench` runs on each store; BENCH='-pairs 3' runs all cases over the loopback.
BENCH   ?= -cases main -networks 1ms,1ms+tls,loopback -pairs 3

# How many trials there are, and optionally which: SEED repeats the choices of a run, and
# FAULTS is a regular expression that "store: fault" has to match.
TRIALS  ?= 10000

.PHONY: demo test test-long test-databases lint check soak reached trials mutants servers bench bench-short bench-micro fmt

## demo: several workers contend for one lock, on the embedded store
demo:
	$(GO) run ./examples/quickstart

# $(call tested,COMMANDS) runs commands that note a failure in $(FAILED), prints the reports
# of the tests, and repeats what failed.
define tested
	@rm -rf $(REPORTS) $(FAILED) && mkdir -p $(REPORTS)
	@export COORDKIT_REPORTS=$(REPORTS); { $(1) } 2>&1 | tee $(OUTPUT)
	@$(GO) run ./internal/report/cmd/printreports $(REPORTS)
	@! test -e $(FAILED) || { echo; echo "what failed, from the output above:"; \
		grep -E '$(FAILURES)' $(OUTPUT) | cut -c1-400 | head -100; exit 1; }
endef

define TESTS
	$(GO) test -race -count=1 -p=1 -timeout=40m -skip='^($(UNRACED)|$(LONG))$$' $$($(GO) list ./... | grep -v /examples/slate$$) || touch $(FAILED); \
	$(GO) test -count=1 -p=1 -timeout=30m -run='^($(UNRACED))$$' -skip='^($(LONG))$$' ./conformance ./drivers/... || touch $(FAILED); \
	$(GO) test -count=1 ./examples/slate || touch $(FAILED); \
	(cd drivers/sql && $(GO) test -race -count=1 -timeout=20m -skip='^($(UNRACED)|$(LONG))$$' . && \
		$(GO) test -count=1 -timeout=30m -run='^($(UNRACED))$$' -skip='^($(LONG))$$' .) || touch $(FAILED); \
	(cd examples/quickstart && $(GO) test -race -count=1 ./...) || touch $(FAILED); \
	(cd bench && $(GO) test -race -count=1 $(BENCH_LOCAL)) || touch $(FAILED); \
	(cd internal/tools && $(GO) test -count=1 ./...) || touch $(FAILED); \
	cd internal/storetest; \
	$(GO) test -race -count=1 -p=1 -timeout=40m -skip='^($(LONG)|TestTrials)$$' ./... || touch $(FAILED); \
	$(GO) test -count=1 -timeout=30m -run='Beside|^TestTrials$$' . || touch $(FAILED);
endef

define LONGTESTS
	$(GO) test -count=1 -p=1 -timeout=30m -run='^($(LONG))$$' ./conformance ./drivers/... || touch $(FAILED); \
	(cd drivers/sql && $(GO) test -count=1 -timeout=30m -run='^($(LONG))$$' -skip='^($(DATABASES))$$' .) || touch $(FAILED); \
	cd internal/storetest; \
	$(GO) test -count=1 -timeout=30m -run='^($(LONG))$$' . || touch $(FAILED);
endef

define DATABASETESTS
	cd drivers/sql && $(GO) test -count=1 -timeout=60m -run='^($(DATABASES))$$' . || touch $(FAILED);
endef

## test: everything but what LONG names, on real servers, under the race detector but for
## what UNRACED names and for what is compared with the stores' own clients. One package at a
## time: servers that starve each other of processors lose leases, as they must.
test: servers
	@for m in . drivers/sql examples/quickstart internal/storetest; do (cd $$m && $(GO) test -race -run='^$$' ./...) >/dev/null; done # compiles with all processors
	$(call tested,$(TESTS))

## test-long: the rest of the tests, which LONG names
test-long: servers
	$(call tested,$(LONGTESTS))

## test-databases: the whole suite on PostgreSQL, MariaDB and PgBouncer, in half an hour
test-databases: servers
	$(call tested,$(DATABASETESTS))

## servers: builds the stores that the tests run on, once
servers:
	$(GO) run ./internal/testserver/cmd/buildservers

## lint: format, tidy modules, vet and staticcheck
lint:
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "not formatted:"; echo "$$unformatted"; exit 1; }
	@for m in $(MODULES); do (cd $$m && $(GO) mod tidy -diff) || exit 1; done
	for m in . $(NESTED); do (cd $$m && $(GO) vet ./... && $(TOOL) staticcheck ./...) || exit 1; done
	for a in 386 arm; do GOARCH=$$a $(GO) vet ./coord/... ./recipes/... ./drivers/mem ./examples/... || exit 1; done

## check: lint, and the tests that need no server
check: lint
	$(GO) test -race $(LOCAL)
	cd internal/storetest && $(GO) test -race $(STORE_LOCAL)
	cd bench && $(GO) test -race $(BENCH_LOCAL)
	cd drivers/sql && $(GO) test -race -run='$(SQL_LOCAL)' .
	cd internal/tools && $(GO) test ./...

## mutants: changes the embedded store, the toy driver, the waiting line and the recipes one
## place at a time, and prints how many of the changes the conformance suite finds by itself;
## MUTATE=drivers/mem for one package
mutants:
	cd internal/tools && $(GO) run ./mutate -packages='$(MUTATE)'

## soak: the fault trials and hammers, again and again
soak: servers
	COORDKIT_SOAK=1 $(GO) test -race -count=3 -timeout=180m ./drivers/... ./conformance/... ./recipes/... ./coord/queue
	cd internal/storetest && COORDKIT_SOAK=1 $(GO) test -race -count=3 -timeout=180m .

## reached: runs random programs over the recipes, and counts the select cases and the
## early returns of the waiting line that they reach; within two minutes
reached:
	@mkdir -p $(REPORTS)
	$(GO) test -count=4 -run='^(TestPrograms|TestSoak)$$' -coverpkg=./coord/queue -coverprofile=$(REPORTS)/reached.out ./conformance
	cd internal/tools && $(GO) run ./reached -profile=$(REPORTS)/reached.out -except=reached/queue.txt ../../coord/queue

## trials: $(TRIALS) locks go through every fault on every store, and one table tells what
## came of it; within an hour on 2 processors
trials: servers
	@rm -rf $(REPORTS) $(FAILED) && mkdir -p $(REPORTS)
	@cd internal/storetest && { COORDKIT_REPORTS=$(REPORTS) COORDKIT_TRIALS=$(TRIALS) COORDKIT_SEED=$(SEED) COORDKIT_FAULTS='$(FAULTS)' \
		$(GO) test -v -count=1 -parallel=2 -timeout=90m -run='^TestTrials$$' . || touch $(FAILED); } 2>&1 | \
		tee $(OUTPUT) | grep --line-buffered -o '[A-Z,a-z0-9 ]*: [0-9]* trials of .*'
	@$(GO) run ./internal/report/cmd/printreports $(REPORTS)
	@! test -e $(FAILED) || { echo; echo "what failed, from $(OUTPUT):"; \
		grep -E '$(FAILURES)' $(OUTPUT) | cut -c1-400 | head -100; exit 1; }

## bench: coordkit beside the locks of the stores' own clients, on one server and on three,
## each over three networks; writes bench/results, and takes about an hour and 40 minutes
bench: servers
	@for s in etcd zk consul; do (cd bench && \
		$(GO) run . -stores $$s $(BENCH) -out results/$$s && \
		$(GO) run . -stores $$s -members 3 $(BENCH) -out results/$$s-3) || exit 1; done

## bench-short: the same with few and short turns, on one server over the loopback; within 5 minutes
bench-short: servers
	cd bench && $(GO) run . -short -pairs 2 -out results/short

## bench-micro: what a lock costs in the client alone, compared with the saved run
bench-micro:
	@mkdir -p $(REPORTS)
	cd bench && $(GO) test -run='^$$' -bench=. -benchmem -count=6 ./micro >$(REPORTS)/micro.txt || { cat $(REPORTS)/micro.txt; exit 1; }
	@test -e $(MICRO) || { mkdir -p $(dir $(MICRO)); cp $(REPORTS)/micro.txt $(MICRO); }
	@cpu=$$(grep -m1 '^cpu: ' $(REPORTS)/micro.txt); \
		saved=$$(grep -lxF "$$cpu" $(MICRO) $(wildcard bench/results/micro-*.txt) | head -1); \
		test -n "$$saved" || { saved=$(MICRO); echo "saved on another processor: compare allocations, and not times"; }; \
		$(TOOL) benchstat -ignore cpu saved=$$saved now=$(REPORTS)/micro.txt
	@cd bench && $(GO) run . -micro $(REPORTS)/micro.txt
	@if test -n "$(MICRO_SAVE)"; then cp $(REPORTS)/micro.txt $(MICRO); fi

fmt:
	gofmt -w .
