# Every target does all of its own set-up on a machine that has Python >= 3.11,
# a Rust toolchain and make; stamp files make repeated calls cheap.

VENV    := .venv
PYTHON  ?= python3
BIN     := $(VENV)/bin
SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock pyproject.toml
# The threads of one build; two fit the smallest machine that the project promises to build on.
JOBS    ?= $(shell $(PYTHON) -c 'import os; print(os.cpu_count() or 1)' 2>/dev/null || echo 2)

export PYO3_PYTHON := $(abspath $(BIN)/python)
export CARGO_TERM_COLOR ?= never
# Nothing is left behind outside $(VENV), target, out and dist, but for what Python must find beside its own modules.
export PYTHONPYCACHEPREFIX := $(CURDIR)/target/pycache
# It is kept there even where the surroundings want none: each of a thousand calls would compile all of it again.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo wasm lab lab-speed lab-memory test test-all tests page-tested rust-built cargo-test nextest check check-rust semver check-python check-page audit format bench answers reference kernel kernel-rows ns2-rows observed captured circle coverage checks gallery atlas manual docs mutants mutants-by-hand mutants-rust mutants-python man wheel sdist page lock clean tools fuzz

help:
	@echo "make setup      build everything into $(VENV)"
	@echo "make demo       recommend a buffer for scenarios/elastic-access-link.toml, picture in out/demo"
	@echo "make lab        the laboratory in the browser, one file in out/lab; what make wasm needs, and npm"
	@echo "make lab-speed  its frames and its engine's speed in Chromium; RUNS=3, ONLY=W2, WRITE=docs/background/performance.md renews the tables there"
	@echo "make lab-memory its memory in Chromium over MINUTES=10 of runs, trade-offs and experiments"
	@echo "make wasm       the engines for browsers, into out/lab; needs rustup's wasm32-unknown-unknown, or Debian's rustc-web and rust-web-src"
	@echo "make test       tests of every module and a sample of each long law, Rust and Python [SEED=N]: laws on other examples"
	@echo "make test-all   every test: long laws, real time, browsers, installs and the gallery of papers [SEED=N]"
	@echo "make check      formatting, lints, types"
	@echo "make semver     changes of the public interface of the library crates since BASE=COMMIT, by default the last tag"
	@echo "make audit      licenses, copies and advisories of what forebay depends on, and its workflows; fails where something could not be asked"
	@echo "make bench      speed of the packet and the fluid engine [ONLY=W1,F1,...] [RUNS=9] [COUNT=1]; ONLY=R: what answers cost, S: what sweeps do beside simulating, O: captures read [CAPTURE=FILE], L: algorithms in other languages; WRITE=docs/background renews the tables there"
	@echo "make answers    CPU time of answers as a ratio to an earlier commit: BASE=COMMIT [ONLY=dsl,campus,...] [ROUNDS=3] [QUICK=1]"
	@echo "make reference  forebay against other programs' numbers [REFERENCE=DIR] [ONLY=oracle,ns2,linux,tofino,ns3] [WRITE=FILE] [AGAINST=FILE]"
	@echo "                ENGINE=kernel: this machine's TCP against the kernel's rows, in real time, two hours [AT_ONCE=2] [ROWS=PART,...]"
	@echo "make ns2-rows   rows of ns-2 off phase, by Debian's ns [TO=DIR] [ROWS=PART,...] [SCENARIOS=FILE] [AT_ONCE=N]"
	@echo "make kernel     the kernel engine and the packet engine side by side, 20 minutes [ONLY=PART] [RUNS=1] [AT_ONCE=2] [WRITE=docs/background/validation]"
	@echo "make observed   captures of 306 scenarios, observed, beside the truth, three minutes [ONLY=PART,...] [WRITE=docs/background/validation]"
	@echo "make captured   captures of real sockets through emulated links beside tcptrace, tshark and ss, six minutes [ONLY=PART,...] [WRITE=docs/background/validation] [KEEP=DIR]"
	@echo "make circle     recommend of what was observed beside recommend of what was true, four minutes [ONLY=PART,...] [WRITE=docs/background/validation]"
	@echo "make coverage   how often recommend is right when it is sure, half an hour; goes on where it was interrupted [FAMILY=PART,...] [SEARCHES=200] [SYSTEMS=100] [WRITE=docs/background/validation]"
	@echo "make kernel-rows  this machine's rows of the experiments of REFERENCE, or of FLOWS='2 cubic + 2 bbr', in TO=out/rows [ROWS=PART,...] [AT_ONCE=2]"
	@echo "make checks     forebay against theory, and the numbers that agree by REFERENCE [REFERENCE=DIR or FILE] [WRITE=docs/background/validation]"
	@echo "make gallery    the papers' figures, full, and the documentation's pages about them [QUICK=1] [GALLERY=DIR]"
	@echo "make atlas      the smallest buffers over rates, round trips, flows and controllers, an hour or two [QUICK=1] [ATLAS=DIR]"
	@echo "make manual     the figures of docs/background/recommend-method.md and docs/reference/rules.md, ten minutes [ONLY=NAME,...] [QUICK=1]"
	@echo "make mutants    changes of the code that the tests ought to notice [ONLY=discipline,search.judging,...] [SAMPLE=50] [SEED=1] [TESTS=PATHS] [BY_HAND=1]"
	@echo "make docs       the documentation, into out/site"
	@echo "make man        the manual pages, into out/man"
	@echo "make wheel      a wheel for everybody's Linux, stripped, with the laboratory inside, into dist [TARGET=aarch64-unknown-linux-gnu]"
	@echo "make sdist      the sources that a wheel can be built from, into dist"
	@echo "make fuzz       attack every reader and the engines with what a fuzzer thinks of [SECONDS=60] [ONLY=scenario,router,scenarios,...] [SEED=N]"
	@echo "make format     reformat every source file"
	@echo "make lock       bring the pinned Python packages and their hashes up to date"
	@echo "make clean      remove $(VENV), target, out and what was built for Python and the browser"

tools:
	@command -v $(PYTHON) >/dev/null 2>&1 || { echo "forebay needs Python >= 3.11: no '$(PYTHON)' on PATH (Debian: apt-get install python3-venv; or PYTHON=/path/to/python3)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "forebay needs Python >= 3.11: '$(PYTHON)' is $$($(PYTHON) -V 2>&1)" >&2; exit 1; }
	@command -v cargo >/dev/null 2>&1 || { echo "forebay needs a Rust toolchain: no 'cargo' on PATH (https://rustup.rs)" >&2; exit 1; }

# Nothing is installed that is not the very file of the pins.
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes

$(VENV)/.packages: requirements/dev.txt | tools
	@$(PYTHON) -m venv $(VENV) || { echo "forebay needs Python's venv module (Debian: apt-get install python3-venv)" >&2; exit 1; }
	@# uv does in seconds what takes pip a minute; where it does not reach the index, pip may.
	@sed -n '/^uv==/,/[^\\]$$/p' requirements/dev.txt >$(VENV)/uv.txt
	@$(INSTALL) -r $(VENV)/uv.txt
	$(BIN)/uv pip install --quiet --require-hashes --python $(BIN)/python -r requirements/dev.txt || $(INSTALL) -r requirements/dev.txt
	@touch $@

# The engines are in $(VENV) either as they are for use, or with the checks of tests: the one takes the other's place.
DEVELOP = VIRTUAL_ENV=$(CURDIR)/$(VENV) PIP_QUIET=1 $(BIN)/maturin develop --locked --quiet -j $(JOBS)

$(VENV)/.build: $(VENV)/.packages $(SOURCES)
	@rm -f $(VENV)/.checked
	$(DEVELOP) --release
	@touch $@

$(VENV)/.checked: $(VENV)/.packages $(SOURCES)
	@rm -f $(VENV)/.build
	$(DEVELOP)
	@touch $@

setup: $(VENV)/.build
	@echo "ready: $(BIN)/forebay --help"

demo: $(VENV)/.build
	@mkdir -p out/demo
	$(BIN)/forebay recommend scenarios/elastic-access-link.toml --also 20p --also 625p --out out/demo

out/lab/forebay.wasm: $(SOURCES) crates/browser/build.sh
	+@JOBS=$(if $(findstring jobserver,$(MAKEFLAGS)),,$(JOBS)) crates/browser/build.sh $@

wasm: out/lab/forebay.wasm
	@ls -l $<

LAB := $(wildcard lab/*.mjs lab/*.html lab/src/*.ts* lab/src/*.css lab/src/*/*.ts* scenarios/*.toml scenarios/*.csv)

lab/node_modules/.packages: lab/package-lock.json
	@command -v npm >/dev/null 2>&1 || { echo "the laboratory's page is not built: no npm on PATH (Debian: apt-get install nodejs npm)" >&2; exit 3; }
	@# As the lock says, which stays as it is.
	@cd lab && npm ci --silent --no-audit --no-fund
	@touch $@

out/lab/index.html: out/lab/forebay.wasm lab/node_modules/.packages $(LAB)
	@cd lab && node build.mjs ../out/lab/forebay.wasm ../$@

# The examples as modules, for the tests of the page.
out/lab/modules: $(wildcard examples/algorithms/*.rs) checks/rust_modules.py
	@$(PYTHON) -m checks.rust_modules $@ && touch $@

# The page also lies where `forebay lab` and a wheel have it.
python/forebay/laboratory/index.html: out/lab/index.html
	@cp $< $@

lab: python/forebay/laboratory/index.html
	@echo "out/lab/index.html: open it in a browser, or put it on any host; \`$(BIN)/forebay lab\` opens it, too"

lab-speed: $(VENV)/.build python/forebay/laboratory/index.html
	@$(BIN)/python -m checks.lab_speed $(if $(RUNS),--rounds $(RUNS)) $(if $(ONLY),--only "$(ONLY)") $(if $(WRITE),--write "$(WRITE)")

lab-memory: $(VENV)/.build python/forebay/laboratory/index.html
	@$(BIN)/python -m checks.lab_memory $(if $(MINUTES),--minutes $(MINUTES)) $(if $(WRITE),--write "$(WRITE)")

# Goals side by side, for each has long stretches that keep one core busy. What cargo builds there shares make's jobs.
SIDE_BY_SIDE = $(MAKE) --no-print-directory -j$(JOBS) $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

# Laws are tried on the same examples every time, others by another SEED. What runs in real time has the machine for
# itself; all else is shared among processes, the longest files first (tests/conftest.py). One build is for cargo's tests
# and for the extension of Python's; where the one for use was there before, it is put back. Tests marked `long` and the
# tests of real time in crates/kernel belong to `make test-all` alone (tests/support/tiers.py).
PYTEST := $(BIN)/python -u -m pytest --color=no --hypothesis-seed=$(or $(SEED),1)
test: $(VENV)/.packages
	@had=$$(ls $(VENV)/.build 2>/dev/null); $(MAKE) --no-print-directory tests; status=$$?; \
	if [ -n "$$had" ]; then $(MAKE) --no-print-directory $(VENV)/.build; \
	else echo "the engines in $(VENV) are those of the tests, with checks: \`make setup\` builds the fast ones"; fi; exit $$status

test-all:
	@FOREBAY_TESTS=all $(MAKE) --no-print-directory test

tests: $(VENV)/.checked
	@$(SIDE_BY_SIDE) page-tested rust-built
	@if command -v cargo-nextest >/dev/null 2>&1; then $(MAKE) --no-print-directory nextest; else $(MAKE) --no-print-directory cargo-test; fi
	$(PYTEST) -m "not real_time" -n $(JOBS) --maxprocesses=8 --dist=loadfile --no-loadscope-reorder
	$(PYTEST) -m real_time

page-tested:
	@if ! command -v npm >/dev/null 2>&1; then echo "no npm on PATH: the laboratory is not tested" >&2; \
	elif crates/browser/build.sh --can; then $(MAKE) --no-print-directory lab out/lab/modules && FOREBAY_ENGINES=$(CURDIR)/out/lab/forebay.wasm npm --prefix lab test --silent; fi

# Without `-j`: what make runs side by side shares its jobs.
rust-built:
	+@cargo test --workspace --locked --no-run --quiet

cargo-test:
	PROPTEST_RNG_SEED=$(or $(SEED),1) cargo test --workspace --locked -j $(JOBS)
	@if [ "$$FOREBAY_TESTS" = all ]; then cargo test --workspace --locked --test engine -j $(JOBS); fi

# Each test in a process of its own, those of all crates side by side (.config/nextest.toml).
nextest:
	PROPTEST_RNG_SEED=$(or $(SEED),1) cargo nextest run --workspace --locked --build-jobs $(JOBS)
	cargo test --workspace --locked --doc -j $(JOBS)
	@if [ "$$FOREBAY_TESTS" = all ]; then cargo nextest run --workspace --locked --test engine --build-jobs $(JOBS); fi

check: $(VENV)/.packages
	@$(SIDE_BY_SIDE) check-rust check-python check-page
	@.ci/audit

check-rust:
	cargo fmt --all --check
	+cargo clippy --workspace --all-targets --locked -- -D warnings
	+RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

# Against the library crates of a commit. It is no part of `make check` or `make test`: it needs an earlier commit,
# a tool that takes minutes to install, and two builds of the documentation.
semver:
	@command -v cargo-semver-checks >/dev/null || { echo "make semver needs cargo-semver-checks: cargo install cargo-semver-checks --locked" >&2; exit 1; }
	cargo semver-checks --package forebay-congestion --package forebay-discipline --baseline-rev "$(or $(BASE),$(shell git describe --tags --abbrev=0 2>/dev/null || echo HEAD))"

check-python: $(VENV)/.packages
	$(BIN)/ruff format --check python checks tests
	$(BIN)/ruff check python checks tests
	$(BIN)/mypy
	PYTHONPATH=python $(BIN)/python -m checks.prose

check-page:
	@if command -v npm >/dev/null 2>&1; then $(MAKE) --no-print-directory lab/node_modules/.packages && npm --prefix lab run check --silent; fi

audit:
	@.ci/audit all

format: $(VENV)/.packages
	cargo fmt --all
	$(BIN)/ruff check --fix --exit-zero --quiet python checks tests
	$(BIN)/ruff format python checks tests

bench: $(VENV)/.build
	@$(BIN)/python -m checks.bench benches $(if $(ONLY),--only $(ONLY)) $(if $(RUNS),--runs $(RUNS)) $(if $(COUNT),--count) $(if $(CAPTURE),--capture "$(CAPTURE)") $(if $(WRITE),--write "$(WRITE)")

# The first run for a commit builds it, into out/answers.
answers: $(VENV)/.build
	@$(BIN)/python -m checks.bench.answers --base "$(BASE)" $(if $(ONLY),--only "$(ONLY)") $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(QUICK),--quick)

REFERENCE ?= tests/reference
reference: $(VENV)/.build
	@$(BIN)/python -m checks.reference "$(REFERENCE)" $(if $(ONLY),--only $(ONLY)) $(if $(ROWS),--match "$(ROWS)") $(if $(ENGINE),--engine $(ENGINE)) $(if $(AT_ONCE),--at-once $(AT_ONCE)) $(if $(WRITE),--write "$(WRITE)") $(if $(AGAINST),--against "$(AGAINST)")

# Real time: half an hour; goes on where it was interrupted.
kernel: $(VENV)/.build
	@$(BIN)/python -m checks.kernel_against_packets $(if $(ONLY),--only "$(ONLY)") $(if $(RUNS),--runs $(RUNS)) $(if $(AT_ONCE),--at-once $(AT_ONCE)) $(if $(WRITE),--write "$(WRITE)")

captured: $(VENV)/.build
	@$(BIN)/python -m checks.captured $(if $(ONLY),--only "$(ONLY)") $(if $(WRITE),--write "$(WRITE)") $(if $(KEEP),--keep "$(KEEP)")

observed: $(VENV)/.build
	@$(BIN)/python -m checks.observed $(if $(ONLY),--only "$(ONLY)") $(if $(WRITE),--write "$(WRITE)")

circle: $(VENV)/.build
	@$(BIN)/python -m checks.circle $(if $(ONLY),--only "$(ONLY)") $(if $(WRITE),--write "$(WRITE)")

# Goes on where it was interrupted, until the search changes.
coverage: $(VENV)/.build
	@$(BIN)/python -m checks.coverage.study $(if $(FAMILY),--family "$(FAMILY)") $(if $(SEARCHES),--searches $(SEARCHES)) $(if $(SYSTEMS),--systems $(SYSTEMS)) $(if $(WRITE),--write "$(WRITE)")

kernel-rows: $(VENV)/.build
	@$(BIN)/python -m checks.reference_rows "$(or $(TO),out/rows)" $(if $(FLOWS),--flows "$(FLOWS)",--like "$(REFERENCE)") $(if $(ROWS),--match "$(ROWS)") $(if $(AT_ONCE),--at-once $(AT_ONCE))

# Ten minutes; needs Debian's package ns2.
ns2-rows: $(VENV)/.build
	@$(BIN)/python -m checks.ns2_rows "$(or $(TO),out/ns2)" $(if $(SCENARIOS),--scenarios "$(SCENARIOS)") $(if $(ROWS),--match "$(ROWS)") $(if $(AT_ONCE),--at-once $(AT_ONCE))

checks: $(VENV)/.build
	@$(BIN)/python -m checks.theory --reference "$(REFERENCE)" $(if $(WRITE),--write "$(WRITE)")

# The cost is said first; a killed run goes on where it stopped.
GALLERY ?= out/gallery
gallery: $(VENV)/.build
	$(BIN)/forebay reproduce all $(if $(QUICK),--quick) --out "$(GALLERY)"
	$(BIN)/python -m forebay.papers.renewal "$(GALLERY)" docs

# An hour or two; goes on where it was interrupted.
ATLAS ?= out/atlas
atlas: $(VENV)/.build
	$(BIN)/python -m checks.atlas.making "$(ATLAS)" $(if $(QUICK),--quick,--docs docs)

# The cheapest scenario first; a run that is interrupted goes on where it stopped.
manual: $(VENV)/.build
	@$(BIN)/python -m checks.manual scenarios docs $(if $(ONLY),--only $(ONLY)) $(if $(QUICK),--quick)

# cargo-mutants makes Rust's mutants, cosmic-ray Python's. ONLY names crates, or Python's packages and modules.
COMMA := ,
RUST_MUTANTS := congestion discipline packet fluid closed_form scenario
PYTHON_MUTANTS := inputs.goals results.statistics search
MUTANTS := $(if $(ONLY),$(subst $(COMMA), ,$(ONLY)),$(RUST_MUTANTS) $(PYTHON_MUTANTS))
MUTATED_CRATES := $(filter $(notdir $(wildcard crates/*)),$(MUTANTS))
MUTATED_MODULES := $(filter-out $(MUTATED_CRATES),$(MUTANTS))
mutants: $(if $(BY_HAND),mutants-by-hand,$(if $(MUTATED_CRATES),mutants-rust) $(if $(MUTATED_MODULES),mutants-python))

mutants-by-hand: $(VENV)/.packages
	@$(BIN)/python -m checks.faults_by_hand $(if $(ONLY),$(MUTATED_CRATES))

# Status 2 means survivors, 3 timeouts. SAMPLE mutants are one shard of them all, and SEED chooses the shard.
CARGO_MUTANTS = cargo mutants $(foreach crate,$(MUTATED_CRATES),--package forebay-$(subst _,-,$(crate)))
mutants-rust:
	@command -v cargo-mutants >/dev/null || { echo "make mutants needs cargo-mutants: cargo install cargo-mutants --locked" >&2; exit 1; }
	@mkdir -p out/mutants
	@shards=$$(( $(if $(SAMPLE),$$($(CARGO_MUTANTS) --list | wc -l) / $(SAMPLE),0) + 1 )); \
	$(CARGO_MUTANTS) --output out/mutants --shard $$(( $(or $(SEED),1) % shards ))/$$shards; \
	case $$? in 0|2|3) ;; *) exit 1 ;; esac

$(VENV)/.mutants: requirements/mutants.txt $(VENV)/.packages
	$(INSTALL) -r requirements/mutants.txt
	@touch $@

MUTATED_PATHS = $(foreach module,$(subst .,/,$(MUTATED_MODULES)),$(or $(wildcard python/forebay/$(module).py),python/forebay/$(module)))
MUTATED_TESTS = $(or $(TESTS),$(wildcard $(sort $(foreach module,$(MUTATED_MODULES),tests/$(firstword $(subst ., ,$(module)))))),tests)
mutants-python: $(VENV)/.build $(VENV)/.mutants
	@rm -rf out/mutants/python && mkdir -p out/mutants/python
	@git ls-files -z --cached --others --exclude-standard | tar -c --ignore-failed-read --null -T - | tar -x -C out/mutants/python
	@cp python/forebay/_core*.so out/mutants/python/python/forebay
	@sed 's|^module-path.*|module-path = [$(foreach path,$(MUTATED_PATHS),"$(path)"$(COMMA))]|; s|tests"$$|$(MUTATED_TESTS)"|' checks/cosmic_ray.toml >out/mutants/python/mutants.toml
	@cd out/mutants/python && export PATH="$(abspath $(BIN)):$$PATH" PYTHONPATH=python && python -m compileall -q python tests && \
	cosmic-ray baseline mutants.toml && cosmic-ray init mutants.toml mutants.sqlite && \
	cr-filter-operators mutants.sqlite mutants.toml && cr-filter-pragma mutants.sqlite && \
	python -m checks.mutant_sample mutants.sqlite $(or $(SEED),1) $(SAMPLE) && \
	cosmic-ray exec mutants.toml mutants.sqlite && cr-report --surviving-only --show-diff mutants.sqlite

$(VENV)/.docs: requirements/docs.txt $(VENV)/.packages
	$(INSTALL) -r requirements/docs.txt
	@touch $@

docs: $(VENV)/.docs $(VENV)/.build
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --site-dir out/site
	@echo "documentation: out/site/index.html"

man: $(VENV)/.build
	$(BIN)/python -m forebay.commands.manual out/man

TARGET ?= $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')

$(VENV)/.wheel: requirements/wheel.txt $(VENV)/.packages
	$(INSTALL) -r requirements/wheel.txt
	@touch $@

# The laboratory's page is what was built last where it cannot be built here.
PAGE := python/forebay/laboratory/index.html
page:
	@if command -v npm >/dev/null 2>&1 && crates/browser/build.sh --can; then $(MAKE) --no-print-directory lab >/dev/null; fi
	@test -f $(PAGE) || echo "without the laboratory: \`make lab\` builds its page where it can" >&2

wheel: $(VENV)/.wheel page
	@mkdir -p dist
	@PATH="$(abspath $(BIN)):$$PATH" JOBS=$(JOBS) crates/python/wheel.sh $(TARGET) dist
	@ls -l dist/*.whl

sdist: $(VENV)/.packages page
	@mkdir -p dist
	@told=$$($(BIN)/maturin sdist --out dist 2>&1) || { echo "$$told" >&2; exit 1; }
	@ls -l dist/*.tar.gz

# Where there is no wheel of atheris for this Python its targets are left out, and that is said.
$(VENV)/.fuzz: requirements/fuzz.txt $(VENV)/.packages
	@$(INSTALL) --only-binary :all: -r requirements/fuzz.txt 2>/dev/null || true
	@touch $@

SECONDS ?= 60
fuzz: $(VENV)/.fuzz $(VENV)/.build
	@$(BIN)/python -m tests.attacks.campaign --seconds $(SECONDS) $(if $(ONLY),--only $(ONLY)) $(if $(SEED),--seed $(SEED))

# A file for each purpose, of the extra of that name in pyproject.toml; what several have is one version.
LOCK := compile --quiet --upgrade --universal --generate-hashes --python-version 3.11 --no-header --no-annotate pyproject.toml
lock: $(VENV)/.packages
	$(BIN)/uv pip $(LOCK) --extra dev --extra all -o requirements/dev.txt
	$(foreach purpose,docs mutants wheel fuzz audit,$(BIN)/uv pip $(LOCK) --extra $(purpose) -c requirements/dev.txt -o requirements/$(purpose).txt &&) true
	@sed -i '1i # Pinned with hashes from pyproject.toml. Made by: make lock' requirements/*.txt

clean:
	rm -rf $(VENV) target out dist lab/node_modules python/forebay/laboratory/index.html python/forebay/_core*.so
