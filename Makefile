# Two commands do all the set-up: `make demo` (the main job on a generated graph) and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := demo-output
# the real DGL that judges our output, each in an environment of its own
DGL_VENVS := .venv-dgl-1.1.3 .venv-dgl-2.1.0
GRAPHSTORM_VENV := .venv-dgl-graphstorm-0.5.1
# two cores: the real graphs and the properties side by side
PYTEST_WORKERS ?= 2
# set in many images; each process of the tests would compile the package anew, in a third of a second
unexport PYTHONDONTWRITEBYTECODE

TARGETS := demo test test-long lint format outputs site slurm unit dgl-envs graphstorm-env graphlearn wholegraph pyg-samplers parmetis clean
.PHONY: $(TARGETS)

demo: $(VENV)/.installed
	rm -rf $(DEMO)
	$(BIN)/daskgraphpart generate $(DEMO)/graph --kind communities --nodes 5e5 --edges 5e6 --labels
	$(BIN)/daskgraphpart partition $(DEMO)/graph $(DEMO)/partitions --num-parts 4
	$(BIN)/daskgraphpart verify $(DEMO)/graph $(DEMO)/partitions
	$(BIN)/daskgraphpart report $(DEMO)/partitions --output $(DEMO)/report.html
	@echo "Open the report in a browser: $(CURDIR)/$(DEMO)/report.html"

# what tests need is made two at a time: pip, mypy and mkdocs have one core each
test:
	$(MAKE) --jobs=2 lint site dgl-envs graphlearn wholegraph slurm
	$(MAKE) unit

# all kills, all formats of all graphs: hours; of them EXAMPLES, new random examples of each property, take 6 CPU minutes a hundred
EXAMPLES ?= 100
test-long: dgl-envs graphstorm-env graphlearn wholegraph slurm pyg-samplers
	-$(MAKE) parmetis  # where it cannot be had its tests are skipped
	HYPOTHESIS_PROFILE=search EXAMPLES=$(EXAMPLES) $(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal -m "long or not long"

# first, whether every target has its rules; by $(MAKE), `make -n lint` would call itself without end
lint: $(VENV)/.installed-dev
	MAKEFLAGS= $(MAKE_COMMAND) --dry-run --always-make $(TARGETS) >/dev/null
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

site: $(VENV)/.installed-dev
	# strict: a broken link or an unknown parameter in a docstring ends it; the notice is an advertisement
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --site-dir build/site

# the outputs that pages and notebooks show, written anew by the tests that compare them
outputs: dgl-envs
	$(BIN)/python -m pytest -q -m "long or not long" --write-outputs tests/docs tests/notebooks

format: $(VENV)/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

unit: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal

slurm:
	# servers for tests/engine/clusters/slurm, which fails in CI if they are not there; to install them takes root
	command -v slurmctld munged >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
	  { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends slurm-wlm munge; }

dgl-envs: $(DGL_VENVS:%=%/.installed)

graphstorm-env: $(GRAPHSTORM_VENV)/.installed

pyg-samplers: $(VENV)/.installed-pyg-samplers

# the code that reads our files; the compiled parts, for another torch and for CUDA, are not used
graphlearn wholegraph: %: build/%/.installed
build/graphlearn/.installed: WHEEL = graphlearn-torch==0.2.4
build/wholegraph/.installed: WHEEL = pylibwholegraph-cu12==26.10.0
build/graphlearn/.installed build/wholegraph/.installed: $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --only-binary=:all: --python-version 3.11 \
	  --platform manylinux_2_17_x86_64 --upgrade --target $(@D) $(WHEEL)
	touch $@

# PyPI has their sources only: twenty CPU minutes of compiling, once
PIP_WHEEL := $(BIN)/pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps -w build/pyg-samplers
$(VENV)/.installed-pyg-samplers: export FORCE_ONLY_CPU = 1
$(VENV)/.installed-pyg-samplers: $(VENV)/.installed-dev
	$(BIN)/pip install --quiet --disable-pip-version-check setuptools wheel
	$(PIP_WHEEL) torch-scatter==2.1.2 & $(PIP_WHEEL) torch-sparse==0.6.18 && wait $$!
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps build/pyg-samplers/*.whl
	touch $@

# with the programs that DGL's pipeline calls, of the branch dgl; needs cmake, and mpicc and mpirun, which root installs here
KARYPIS_LAB ?= https://github.com/KarypisLab
COMMITS ?= GKlib=e2856c2f595b153ca1ce9258c5301dbabc4f39f5 METIS=a6e6a2cfa92f93a3ee2971ebc9ddfc3b0b581ab2 \
  ParMETIS=f0554870e77e43f480426c991493c7c4025651a2
INSTALLED := $(CURDIR)/build/parmetis
parmetis: $(INSTALLED)/.installed
$(INSTALLED)/.installed:
	command -v mpicc mpirun cmake >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
	  { apt-get -qq update && apt-get -qq install -y --no-install-recommends cmake libopenmpi-dev openmpi-bin; }
	unset MAKEFLAGS MAKELEVEL; for commit in $(COMMITS); do \
	  of=$(INSTALLED)/$${commit%=*} && mkdir -p $$of && cd $$of && git init -q && \
	  git fetch -q --depth 1 $(KARYPIS_LAB)/$${commit%=*} $${commit#*=} && git checkout -q FETCH_HEAD && \
	  $(MAKE_COMMAND) config prefix=$(INSTALLED) gklib_path=$(INSTALLED) metis_path=$(INSTALLED) i64=1 \
	    cc=$$([ $${commit%=*} = ParMETIS ] && echo mpicc || echo cc) && $(MAKE_COMMAND) install || exit 1; \
	done >/dev/null
	touch $@

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,docs,jobqueue,notebook,s3,torch]"
	touch $@

# torch first and pinned: otherwise pip takes a build with CUDA, gigabytes of it
.venv-dgl-1.1.3/.installed: tests/real_dgl/requirements-dgl-1.1.3.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check torch==2.13.0
	$(@D)/bin/pip install --quiet --disable-pip-version-check -r $<
	touch $@

.venv-dgl-2.1.0/.installed: tests/real_dgl/requirements-dgl-2.1.0.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check -r $<
	touch $@

# GraphStorm sees the DGL below; its requirements are all of what else it imports, in versions for the NumPy of that DGL
SITE_PACKAGES := -c "import sysconfig; print(sysconfig.get_path('purelib'))"
$(GRAPHSTORM_VENV)/.installed: tests/real_dgl/requirements-graphstorm-0.5.1.txt .venv-dgl-2.1.0/.installed
	$(PYTHON) -m venv $(@D)
	.venv-dgl-2.1.0/bin/python $(SITE_PACKAGES) > "$$($(@D)/bin/python $(SITE_PACKAGES))/dgl.pth"
	$(@D)/bin/pip install --quiet --disable-pip-version-check --no-deps -r $<
	touch $@

clean:
	rm -rf $(VENV) $(DGL_VENVS) $(GRAPHSTORM_VENV) $(DEMO) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
