# The short way to everything. Each target that needs packages first installs those that are missing (scripts/setup).
# The work itself is CMake's: see CMakePresets.json for other builds.

BUILD := build
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)

.PHONY: all build setup train test cluster-test hostile chaos bench bench-peers format lint install clean help
.DEFAULT_GOAL := build

all: build

build: setup ## build the libraries and the programs, in build/ (plain `make`)
	@test -f $(BUILD)/build.ninja || cmake --preset default -B $(BUILD)
	@cmake --build $(BUILD) -j $(JOBS)

setup: ## install the packages that are missing
	@scripts/setup

train: build ## train the default network on Fashion-MNIST
	$(BUILD)/yoke train

test: build ## every test: units, format, README, install, and once more under ASan, UBSan and TSan
	@JOBS=$(JOBS) scripts/sanitized asan $(BUILD)
	@JOBS=$(JOBS) scripts/sanitized tsan $(BUILD)
	@ctest --test-dir $(BUILD) --output-on-failure -j2
	@echo "make test: every test passed."

cluster-test: build ## the commands of docs/clusters.md with Fashion-MNIST: mpirun, Slurm, two hosts (minutes, as root)
	@set -e; for where in mpirun slurm hosts; do \
	  /usr/bin/python3 tests/cluster/$${where}_test.py $(BUILD)/yoke --long; done

hostile: build ## 10,000 strangers at a server's port, and ten minutes of liars under ASan and UBSan
	@tests/hostile/hostile_suite.py $(BUILD)/yoke $(BUILD)/hostile_peer
	@JOBS=$(JOBS) scripts/sanitized asan $(BUILD)
	@$(BUILD)-asan/sequence_fuzz --seconds 600

chaos: build ## ten minutes of faults in every part of a running job, then Fashion-MNIST with and without (40 minutes)
	@tests/chaos/chaos.py --yoke $(BUILD)/yoke --proxy $(BUILD)/fault_proxy --seconds 600 --undisturbed 120 --after
	@set -e; for seed in 1 2 3; do tests/chaos/chaos.py --yoke $(BUILD)/yoke --proxy $(BUILD)/fault_proxy \
	  --data fashion-mnist --epochs 1 --seed $$seed; done

bench: build ## every benchmark, one after another
	@set -e; for program in $(BUILD)/*_bench; do echo "== $$program"; $$program; done

bench-peers: build ## beside Gloo, OpenMPI, ZeroMQ and PyTorch DDP: ratios, JSON and a plot (20 minutes)
	@scripts/setup libgloo-dev libopenmpi-dev openmpi-bin libzmq3-dev python3-torch dataset-fashion-mnist
	@bench/peers.py --yoke $(BUILD)/yoke --build $(BUILD)

format: setup ## bring the sources into the format of .clang-format
	@scripts/format

lint: build ## clang-tidy over src/ (installs clang-tidy)
	@scripts/setup clang-tidy
	@run-clang-tidy -quiet -j $(JOBS) -p $(BUILD) '^$(CURDIR)/src/'

install: setup ## install below PREFIX (/usr/local)
	@cmake --preset default -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX)
	@cmake --build $(BUILD) -j $(JOBS)
	@cmake --install $(BUILD)

clean: ## remove every build
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-tsan

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile
