# `make demo` and `make test` are all a newcomer needs: each sets up what it uses.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo docs gallery test check test-journeys test-science test-slow package release speed tutorial peers browser wordnet ocr torch vllm trackers harnesses lock clean

demo: $(VENV)/core.installed
	$(BIN)/eyetest demo --to demo --overwrite

# What eyetest finds in benchmarks that everybody knows, from the data in EYETEST_SHARED: docs/gallery and the README's table.
gallery: $(VENV)/dev.installed
	$(BIN)/python -m tools.gallery

# The site, with search, in build/site. Strict: a broken link or anchor, or a page outside the navigation, is an error.
docs: $(VENV)/dev.installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo build/site/index.html

# What a contributor needs before a commit: about six minutes on two cores.
test: check
	$(BIN)/pytest -n auto --dist worksteal

check: $(VENV)/dev.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.size

# Whole commands, servers, kills, browsers and the pages of the documentation.
test-journeys: $(VENV)/dev.installed
	$(BIN)/pytest -n auto --dist worksteal -m "journey and not slow and not science"

# Coverage, power, false discovery rates and accuracy on held-out data, and properties on more examples; some need
# EYETEST_SHARED.
test-science: $(VENV)/dev.installed
	$(BIN)/pytest -n auto --dist worksteal -m "(science or hypothesis) and not slow" --hypothesis-profile thorough

test-slow: $(VENV)/dev.installed
	$(BIN)/pytest -m slow

# Both distributions in dist/, and their wheels in a clean environment: they do what the README shows. Minutes.
package: $(VENV)/dev.installed
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/python -m build --no-isolation --outdir dist packages/eyetest-world
	$(BIN)/pytest -m "slow or not slow" -s tests/test_distributions.py

# Both distributions, the site, an SBOM, checksums and the signed section of the changelog, in build/release (tools/release.py).
# KEY=~/.ssh/id_ed25519 signs with ssh-keygen; DRY=--dry-run takes the section that is not released yet.
release: $(VENV)/dev.installed
	$(BIN)/python -m tools.release --to build/release $(DRY) $(if $(KEY),--key $(KEY))

speed: $(VENV)/dev.installed peers
	$(BIN)/python speed/import.py
	$(BIN)/python speed/audit.py
	$(BIN)/python speed/ask.py --growth 50000
	$(BIN)/python speed/growth.py
	$(BIN)/python speed/ray.py
	$(BIN)/python speed/read.py
	$(BIN)/python speed/score.py
	$(BIN)/python speed/reform.py
	$(BIN)/python speed/tables.py
	$(BIN)/python speed/captions.py
	$(BIN)/python speed/report.py
	$(BIN)/python speed/reform.py
	$(BIN)/python speed/review.py
	$(BIN)/python speed/similar.py
	$(BIN)/python speed/surface.py
	$(BIN)/python speed/zoo.py

# Runs the tutorial and stores it with what it printed.
tutorial: $(VENV)/dev.installed
	$(BIN)/python -m tools.tutorial

# Tools that speed/ compares with, in an environment of their own.
peers: .venv-peers/installed

.venv-peers/installed: speed/peers/requirements.txt
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

# For the tests of checkpoints and of training loops; they are skipped without it.
torch: $(VENV)/dev.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps torchvision==0.28.0 transformers==5.22.2 \
	  tokenizers==0.23.3 safetensors==0.8.0 regex==2026.11.9 accelerate==1.15.0 lightning==2.6.6 lightning-utilities==0.15.3 \
	  pytorch-lightning==2.6.6 torchmetrics==1.9.0

# A real vLLM on the processor, for slow tests in an environment of its own; they are skipped without it.
vllm: .venv-vllm/installed

.venv-vllm/installed: tests/models/vllm/requirements.txt tests/models/vllm/repair.py
	$(PYTHON) -m venv .venv-vllm
	.venv-vllm/bin/python -m pip install --quiet --disable-pip-version-check -r $< -e .
	.venv-vllm/bin/python tests/models/vllm/repair.py
	touch $@

# inspect-ai, lmms-eval and VLMEvalKit in an environment of their own, for slow tests; they are skipped without it. Without most
# of what they list: what their import needs. VLMEVALKIT is its repository, of which one commit is taken.
VLMEVALKIT ?= https://github.com/open-compass/VLMEvalKit
harnesses: .venv-harnesses/installed

.venv-harnesses/installed: tests/integrations/requirements.txt tests/integrations/repair.py
	$(PYTHON) -m venv .venv-harnesses
	.venv-harnesses/bin/python -m pip install --quiet --disable-pip-version-check -r $< -e .
	.venv-harnesses/bin/python -m pip install --quiet --disable-pip-version-check --no-deps lmms_eval==0.7.3
	git clone --quiet $(VLMEVALKIT) .venv-harnesses/vlmevalkit
	git -C .venv-harnesses/vlmevalkit checkout --quiet e8e78f05f3080fe28154f2130321f17951c3be94
	.venv-harnesses/bin/python tests/integrations/repair.py
	touch $@

# Real trackers with a server of MLflow, in an environment of their own, for slow tests; they are skipped without it.
trackers: .venv-trackers/installed

.venv-trackers/installed: tests/commands/trackers.txt
	$(PYTHON) -m venv .venv-trackers
	.venv-trackers/bin/python -m pip install --quiet --disable-pip-version-check -r $< -e .
	touch $@

# A browser for the tests that open pages; they are skipped where there is none. Needs root, Debian or Ubuntu.
browser:
	apt-get update && apt-get install --yes --no-install-recommends chromium

# Which classes are alike, for `eyetest reform` and its tests; without it names are compared. Needs root, Debian or Ubuntu.
wordnet:
	apt-get update && apt-get install --yes --no-install-recommends wordnet-base

# The faster of the two OCR engines, for screenshots that are read back; without it the extra `ocr` reads. Needs root.
ocr:
	apt-get update && apt-get install --yes --no-install-recommends tesseract-ocr

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/core.installed: requirements.lock pyproject.toml packages/eyetest-world/pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . -e packages/eyetest-world
	touch $@

$(VENV)/dev.installed: requirements-dev.lock tests/support/requirements.txt $(VENV)/core.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r tests/support/requirements.txt
	touch $@

# Writes both lock files anew from both pyproject.toml files. Needs uv on the PATH.
COMPILE := uv pip compile --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url \
  --no-emit-find-links --no-strip-extras --no-emit-package eyetest pyproject.toml packages/eyetest-world/pyproject.toml requirements-build.in

lock:
	$(COMPILE) -o requirements.lock
	$(COMPILE) --extra screenshot --group dev -o requirements-dev.lock

clean:
	rm -rf $(VENV) demo build dist .mypy_cache .ruff_cache .pytest_cache
