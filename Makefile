# Every task starts here. `make` alone lists them.
#
# Each configuration has a build folder of its own, so that a change between them rebuilds nothing:
# .build-debug (tests), .build-release (serving and measuring), .build-tsan (thread sanitizer).
# Tools that are not packages of the system are in .build-tools.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.SUFFIXES:
MAKEFLAGS += --no-print-directory

# With this, Package.swift makes warnings errors: in our own builds.
export LATCHKEY_STRICT := 1

# An import that Package.swift does not declare is an error; the tidy tests check the rest.
SWIFT_BUILD := swift build --explicit-target-dependency-import-check error
DEBUG := --scratch-path .build-debug
# The number of tests at once: tests of the actor strategy need processor time of the two threads of
# Swift's pool, which would be late among hundreds of other threads.
WIDTH := --experimental-maximum-parallelization-width 8
# `scripts/stages` reads the failed tests there.
EVENTS := $(if $(TEST_EVENTS),--event-stream-output-path $(TEST_EVENTS) \
    --event-stream-version 0)
TEST = swift test $(DEBUG) --skip-build --disable-xctest $(EVENTS)
# With Swift's libraries in the program, so that it runs elsewhere, too. It looks for no library
# next to it.
RELEASE = --scratch-path .build-release --configuration release --static-swift-stdlib \
    --disable-local-rpath $(shell scripts/linked .build-release/linked)
# The program prints its commit. For another one, only a small part is compiled again.
BUILD_RELEASE = LATCHKEY_BUILD="$$(scripts/version build)" $(SWIFT_BUILD) $(RELEASE)
# Without symbols, which are in a file next to it.
RELEASE_BINARY := .build-release/bin/latchkey
PACKAGES := .build-release/package
FLOOR := Benchmarks/build/floor
PARKING_LOT := Benchmarks/build/parking-lot/release/parking-lot-peer
HEAP := Benchmarks/build/heap.so
BENCH_CLIENTS := $(addprefix Benchmarks/build/, puts sessions watchers writers)
# Runs a command with the libmicrohttpd of the other Debian.
OTHER = folder=$$(scripts/other-microhttpd) && LD_LIBRARY_PATH="$$folder"
SWIFT_SOURCES := Package.swift Sources Tests $(wildcard Benchmarks Examples)
C_SOURCES := $(shell git ls-files '*.c' '*.h')

# Options for the program of a task, as in `make run ARGS="--strategy spin --stripes 1"` and
# `make unit ARGS="--filter StripedTests"`.
ARGS ?=

## Use it

.PHONY: run
run: build ## install, build, serve on 127.0.0.1:8080; keeps its data in .latchkey-data
	exec env -u LATCHKEY_STRICT LATCHKEY_DATA="$${LATCHKEY_DATA-$(CURDIR)/.latchkey-data}" \
	    $(RELEASE_BINARY) serve $(ARGS)

.PHONY: build
build: ## build the release binary, .build-release/bin/latchkey
	scripts/build $(RELEASE_BINARY) $(SWIFT_BUILD) $(RELEASE) --product latchkey
	scripts/ship .build-release/release/latchkey $(dir $(RELEASE_BINARY))

.PHONY: package
package: build ## a package for Debian and an archive, in .build-release/package
	scripts/require package
	scripts/package $(RELEASE_BINARY) $(PACKAGES)

.PHONY: release
release: build ## all files of a release, in .build-dist: packages, image, clients, checksums, notes
	scripts/require package test clients
	scripts/release $(ARGS) $(RELEASE_BINARY) .build-dist

.PHONY: image
image: ## build the container image (podman or docker)
	$$(command -v podman || command -v docker) build --tag localhost/latchkey:dev \
	    --build-arg BUILD="$$(scripts/version build)" \
	    --build-arg VERSION="$$(scripts/version)" .

.PHONY: load
load: build ## every strategy over HTTP, with wrk (4 minutes)
	scripts/require load
	$(RELEASE_BINARY) compare --transport http $(ARGS)

.PHONY: bench
bench: build $(FLOOR) $(BENCH_CLIENTS) $(HEAP) ## measure docs/performance.md's promises (minutes)
	scripts/require bench
	$(BUILD_RELEASE) --product LatchkeySyncBenchmark
	Benchmarks/ParkingLot/build.sh
	Benchmarks/bench.py --binary $(RELEASE_BINARY) --floor $(FLOOR) \
	    --clients Benchmarks/build --micro .build-release/release/LatchkeySyncBenchmark \
	    --heap $(CURDIR)/$(HEAP) --parking-lot $(PARKING_LOT) $(ARGS)

.PHONY: bench-compare
bench-compare: build ## measure the promises of docs/measuring.md (hours)
	scripts/require load
	$(BUILD_RELEASE) --product LatchkeyPlanted
	Benchmarks/compare.py --binary $(RELEASE_BINARY) \
	    --planted .build-release/release/LatchkeyPlanted $(ARGS)

$(FLOOR): Benchmarks/floor.c
	mkdir -p $(@D)
	$(CC) -O2 -Wall -Wextra -o $@ $< -lmicrohttpd -pthread

$(HEAP): Tests/allocations/counter.c
	mkdir -p $(@D)
	$(CC) -O2 -Wall -Wextra -shared -fPIC -o $@ $<

Benchmarks/build/sessions: Benchmarks/sessions.c Benchmarks/client.h
	mkdir -p $(@D)
	$(CC) -O2 -Wall -Wextra -o $@ $< -lgnutls

Benchmarks/build/puts: Benchmarks/puts.c Benchmarks/client.h \
    $(wildcard Sources/replicas/CLatchkeyRPC/*.c)
	mkdir -p $(@D)
	$(CC) -O2 -Wall -Wextra -ISources/replicas/CLatchkeyRPC/include -o $@ $(filter %.c,$^) \
	    -lnghttp2 -lgnutls -pthread

Benchmarks/build/%: Benchmarks/%.c Benchmarks/client.h
	mkdir -p $(@D)
	$(CC) -O2 -Wall -Wextra -o $@ $<

.PHONY: soak
soak: build ## three minutes of mixed load; fails if the memory keeps growing
	scripts/require load
	Benchmarks/soak.py --binary $(RELEASE_BINARY) $(ARGS)

## Test it

.PHONY: test
test: ## the tests before a commit; builds only for debugging
	scripts/stages lint build-tests tidy unit contract smoke

.PHONY: test-deep
test-deep: ## the other tests: sanitizers, models, examples, the release binary (40 minutes)
	scripts/stages unit-deep diagnostics test-c test-model test-threads test-example test-docs \
	    contract-other build process upgrade allocations machine-code dashboard clients proxies \
	    test-install hostile-quick durability-quick cluster-quick cluster-operators-quick \
	    client-histories-quick switching-quick

.PHONY: release-check
release-check: ## before a release: the other libmicrohttpd, a clean Debian 13 (an hour)
	scripts/stages wire-other hostile-other languages debian-13

.PHONY: lint
lint: ## check the format of the Swift and C sources
	scripts/require lint
	swift format lint --strict -p -r $(SWIFT_SOURCES)
	clang-format --dry-run -Werror $(C_SOURCES)

.PHONY: build-tests
build-tests: ## build everything for debugging, tests included
	scripts/require build
	$(SWIFT_BUILD) $(DEBUG) --build-tests

.PHONY: tidy
tidy: build-tests ## the rules for the whole tree
	$(TEST) $(or $(ARGS),--filter TidyTests)

.PHONY: unit
unit: build-tests ## unit tests, laws, the service on loopback (ARGS="--filter StripedTests")
	scripts/require test
	$(TEST) --skip TidyTests $(WIDTH) $(ARGS) </dev/null

.PHONY: unit-soak
unit-soak: build-tests ## unit and contract tests N times, half of them under load (N=20)
	scripts/unit-soak $(or $(N),20)

# The tests are a debug build, like all tests; the program is the release build. Only this target
# knows the tests' target.
PROCESS := LATCHKEY_PROCESS_TESTS=1 LATCHKEY_TEST_PROGRAM=$(CURDIR)/$(RELEASE_BINARY)

.PHONY: process
process: build ## the program as a process: flags, signals, files, replicas
	scripts/require test
	$(PROCESS) $(SWIFT_BUILD) $(DEBUG) --build-tests
	$(PROCESS) $(TEST) $(or $(ARGS),--filter LatchkeyProcessTests) $(WIDTH) </dev/null

# Suites with a deep form use `Depth` (Tests/LatchkeyTestSupport). They are chosen by their files.
DEEP = $(notdir $(shell grep -rl 'Depth\.' Tests --include='*Tests.swift'))

.PHONY: unit-deep
unit-deep: build-tests ## the deep form of unit tests: every strategy, twenty seeds
	scripts/require test
	LATCHKEY_TEST_DEEP=1 $(TEST) $(WIDTH) $(or $(ARGS),$(DEEP:%=--filter %)) </dev/null

.PHONY: wire-other
wire-other: build-tests ## the tests over HTTP with the libmicrohttpd of the other Debian
	scripts/require test
	$(OTHER) $(TEST) $(WIDTH) $(or $(ARGS),--filter 'LatchkeyHTTPTests|LatchkeyWireTests') </dev/null

.PHONY: smoke
smoke: build-tests ## the process: starts, one request of each kind, kills, ends (20 seconds)
	scripts/require load
	env -u LATCHKEY_STRICT Tests/smoke/run.py --binary .build-debug/debug/latchkey

.PHONY: diagnostics
diagnostics: build-tests ## the compiler's messages for wrong uses of LatchkeySync
	Tests/diagnostics/run.py --build .build-debug/debug

.PHONY: test-c
test-c: ## the C wrapper under sanitizers and valgrind, and its memory, with both libmicrohttpd
	scripts/require test
	Tests/c/run.sh
	$(OTHER) Tests/c/run.sh

.PHONY: test-model
test-model: ## locks, snapshot, the switch: the C++20 memory model, exhaustively (40 seconds)
	scripts/require load
	Tests/model/run.sh

.PHONY: test-threads
test-threads: ## strategies, store and meters under the thread sanitizer, with a planted race
	scripts/require test
	Tests/tsan.sh

.PHONY: test-example
test-example: ## the example packages and the documentation's snippets, as a user builds them
	scripts/require test
	Examples/run.sh

.PHONY: test-docs
test-docs: build-tests ## the links of the DocC catalogue
	scripts/docc .build-debug

.PHONY: allocations
allocations: build ## the allocations of GET and PUT of a property (5 seconds)
	scripts/require test
	Tests/allocations/run.py --binary $(RELEASE_BINARY)

.PHONY: machine-code
machine-code: build ## the calls of a write, and the code compiled for each strategy (20 seconds)
	Tests/machine-code/run.py --build .build-release/release

.PHONY: upgrade
upgrade: build ## read the files of earlier versions (Tests/upgrade) (20 seconds)
	scripts/require load cluster
	Tests/upgrade/run.py --binary $(RELEASE_BINARY)

.PHONY: contract
contract: build-tests ## check the service against openapi.yaml, and its metrics with promtool
	scripts/require test clients
	Tests/contract/run.py --binary .build-debug/debug/latchkey

.PHONY: contract-other
contract-other: build-tests ## `make contract` with the libmicrohttpd of the other Debian
	scripts/require test clients
	$(OTHER) Tests/contract/run.py --binary .build-debug/debug/latchkey

.PHONY: languages
languages: ## generate clients in Go and C# from openapi.yaml, compile that in Go (10 seconds)
	scripts/require test languages
	Tests/contract/languages.py

.PHONY: dashboard
dashboard: build ## the page at / in headless Chromium (ARGS="--screenshots FOLDER")
	scripts/require dashboard
	Tests/dashboard/run.py --binary $(RELEASE_BINARY) $(ARGS)

.PHONY: clients
clients: build ## the clients, recipes and examples; curl, a library and a browser; pprof
	scripts/require test dashboard pprof clients
	Tests/clients/run.py --binary $(RELEASE_BINARY)
	Tests/clients/conformance/run.py --binary $(RELEASE_BINARY)
	Tests/clients/examples.py --binary $(RELEASE_BINARY)

.PHONY: conformance
conformance: build ## all clients against a service with scripted faults (a minute)
	scripts/require test clients
	Tests/clients/conformance/run.py --binary $(RELEASE_BINARY) $(ARGS)

.PHONY: clients-packages
clients-packages: ## a wheel, and a package of npm, in .build-packages
	scripts/require test clients
	scripts/pack-python .build-packages
	scripts/pack-typescript .build-packages

.PHONY: client-histories
client-histories: build ## faults of network, service and clients, judged exactly (an hour)
	scripts/require test clients
	Tests/clients/histories/run.py --binary $(RELEASE_BINARY) --each --seconds 600 $(ARGS)

.PHONY: client-histories-quick
client-histories-quick: build ## `make client-histories` in a minute
	scripts/require test clients
	Tests/clients/histories/run.py --binary $(RELEASE_BINARY) $(ARGS)

.PHONY: proxies
proxies: build ## nginx, Caddy, Varnish and squid before the service, as in deploy/
	scripts/require proxies
	Tests/proxies/run.py --binary $(RELEASE_BINARY) --tools .build-tools/bin

.PHONY: test-install
test-install: build ## manual pages, shells, a release made twice, in empty Debians (four minutes)
	scripts/require install package test clients
	Tests/install/run.py --binary $(RELEASE_BINARY)

.PHONY: debian-13
debian-13: ## the last commit, built, tested and packaged in a clean Debian 13 (half an hour)
	scripts/require install
	Tests/install/whole.py

.PHONY: hostile
hostile: build ## hostile clients against the running service, also over TLS (20 minutes)
	scripts/require load
	Tests/hostile/run.py --binary $(RELEASE_BINARY)

.PHONY: hostile-quick
hostile-quick: build ## `make hostile` in under 2 minutes
	scripts/require load
	Tests/hostile/run.py --binary $(RELEASE_BINARY) --quick

.PHONY: hostile-other
hostile-other: build ## `make hostile` with the libmicrohttpd of the other Debian (20 minutes)
	scripts/require test
	$(OTHER) Tests/hostile/run.py --binary $(RELEASE_BINARY)

.PHONY: hostile-asan
hostile-asan: ## ends during a storm of malformed heads, under AddressSanitizer (5 minutes)
	scripts/require load
	$(SWIFT_BUILD) --sanitize=address --scratch-path .build-asan --product latchkey
	ASAN_OPTIONS=detect_leaks=0 Tests/hostile/run.py --binary .build-asan/debug/latchkey \
	    --only drain-storm --repeats 40

.PHONY: durability
durability: build ## kill -9, loss of power, failing disks, damaged files (an hour)
	scripts/require load
	Tests/durability/run.py all --binary $(RELEASE_BINARY) $(ARGS)

.PHONY: durability-quick
durability-quick: build ## `make durability` in under 2 minutes
	scripts/require load
	Tests/durability/run.py quick --binary $(RELEASE_BINARY) $(ARGS)

.PHONY: switching
switching: build ## judged histories with another strategy every 50 ms (over 30 minutes)
	scripts/require test clients cluster
	Tests/durability/run.py all --switch --binary $(RELEASE_BINARY) $(ARGS)
	Tests/cluster/run.py --binary $(RELEASE_BINARY) --switch --rounds 24
	Tests/clients/histories/run.py --binary $(RELEASE_BINARY) --switch --seconds 300

.PHONY: switching-quick
switching-quick: build ## `make switching` in a minute, from each strategy; without a cluster
	scripts/require load
	Tests/durability/run.py quick --switch --binary $(RELEASE_BINARY) $(ARGS)

.PHONY: cluster
cluster: build ## faults of replicas, etcd, network, disks under load, judged exactly (25 minutes)
	scripts/require cluster
	Tests/cluster/run.py --binary $(RELEASE_BINARY) --judge-times $(ARGS)

.PHONY: cluster-quick
cluster-quick: build ## `make cluster` in about two minutes
	scripts/require cluster
	Tests/cluster/run.py --binary $(RELEASE_BINARY) --quick $(ARGS)

# With the etcd of both Debians, if available.
OPERATORS = later=$$(scripts/other-etcd) || later=; \
    Tests/cluster/operators.py --binary $(RELEASE_BINARY) $${later:+--later-etcd "$$later"}

.PHONY: cluster-operators
cluster-operators: build ## operators' work on etcd, under load, judged exactly (20 minutes)
	scripts/require operators
	$(OPERATORS) $(ARGS)

.PHONY: cluster-operators-quick
cluster-operators-quick: build ## `make cluster-operators` in about 90 seconds
	scripts/require operators
	$(OPERATORS) --quick $(ARGS)

## Keep it

.PHONY: format
format: ## format the Swift and C sources in place
	scripts/require lint
	swift format --in-place -p -r $(SWIFT_SOURCES)
	clang-format -i $(C_SOURCES)

.PHONY: docs
docs: build-tests ## write the tables of strategies, settings and figures into the documents
	LATCHKEY_WRITE_DOCS=1 swift test $(DEBUG) --skip-build --disable-xctest \
	    --filter TidyTests.GeneratedTests

.PHONY: figures
figures: build ## record a run of `latchkey compare` for the documents, and write its figures there
	$(RELEASE_BINARY) compare --json docs/figures/compare.json
	python3 -m json.tool --compact docs/figures/compare.json docs/figures/compact.json
	mv docs/figures/compact.json docs/figures/compare.json
	$(MAKE) docs

.PHONY: clean
clean: ## remove all build folders
	rm -rf .build .build-* Benchmarks/build Examples/.build Examples/*/.build

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^## / { print "\n" substr($$0, 4) } \
	    /^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile
