# SPDX-License-Identifier: MIT OR Apache-2.0
# The commands of the README under one name each; what they do is in scripts/.
.DEFAULT_GOAL := help
.PHONY: help demo check test test-all build install deb wheel cross dist bench bench-lab fmt clean-demo

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12

demo: ## Measure this machine, idle and under load, and write demo/report.html
	@./scripts/demo.sh

check: ## Run the checks that take less than three minutes
	@./scripts/test.sh check

test: ## Run all that a change of code can break, in less than 20 minutes
	@./scripts/test.sh test

test-all: ## Run every check there is, in less than an hour
	@./scripts/test.sh all

build: ## Build the static release program for this machine
	@./scripts/build.sh

install: ## Build and install it with manual pages and completions; PREFIX (/usr/local) and DESTDIR say where
	@./scripts/install.sh

deb: ## Build it and make Debian packages in target/debian/, also of what `make cross` built of these sources
	@./scripts/deb.sh

wheel: ## Build wheels for pip into target/wheels/: the program and the Python module teiji
	@./scripts/wheel.sh

cross: ## Build static programs for aarch64, armv7 and riscv64
	@./scripts/cross.sh

dist: ## Build what a release has into dist/: programs for four processors, packages, wheels, pages, bill of materials, sums
	@./scripts/dist.sh

bench: ## Take the figures of SPECIFICATION.md, beside cyclictest
	@./scripts/bench.sh

bench-lab: ## Take the figures of the lab alone: latency and instructions, beside cyclictest in the same guest
	@./scripts/bench.sh lab

fmt: ## Format all Rust code
	@cargo fmt --all

clean-demo: ## Remove what `make demo` wrote
	@rm -rf demo
