GO      ?= go
REPORTS := $(CURDIR)/.reports
MODULES := . internal/tools $(patsubst %/go.mod,%,$(wildcard internal/testserver/*/go.mod))
# What needs no server: quick enough to be part of every check.
LOCAL   := . ./coord/... ./internal/queue/... ./internal/report/... ./recipes/... ./drivers/mem/... ./conformance/netfault/...

.PHONY: demo test check soak servers fmt

## demo: several workers contend for one lock, on the embedded store
demo:
	$(GO) run ./examples/quickstart

## test: everything, on real servers, under the race detector. One package at a
## time: servers that starve each other of processors lose leases, as they must.
## What is compared with the stores' own clients runs without the race detector.
test: servers
	@rm -rf $(REPORTS) && mkdir -p $(REPORTS)
	@$(GO) test -race -run='^$$' ./... >/dev/null # compiles with all processors
	@COORDKIT_REPORTS=$(REPORTS) $(GO) test -race -count=1 -p=1 -timeout=25m ./...; failed=$$?; \
		COORDKIT_REPORTS=$(REPORTS) $(GO) test -count=1 -run=Beside ./internal/storetest || failed=1; \
		$(GO) run ./internal/report/cmd/printreports $(REPORTS) && exit $$failed

## servers: builds the stores that the tests run on, once
servers:
	$(GO) run ./internal/testserver/cmd/buildservers

## check: format, vet, staticcheck, tidy modules, and the tests that need no server
check:
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "not formatted:"; echo "$$unformatted"; exit 1; }
	@for m in $(MODULES); do (cd $$m && $(GO) mod tidy -diff) || exit 1; done
	$(GO) vet ./...
	$(GO) tool -modfile=internal/tools/go.mod staticcheck ./...
	$(GO) test -race $(LOCAL)

## soak: the fault trials and hammers, again and again
soak: servers
	COORDKIT_SOAK=1 $(GO) test -race -count=3 -timeout=180m ./drivers/... ./conformance/... ./recipes/... ./internal/queue/... ./internal/storetest

fmt:
	gofmt -w .
