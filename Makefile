# What the project is checked with. `make` alone lists the targets.
MUSL := x86_64-unknown-linux-musl
STATIC := target/$(MUSL)/release/curfew-agent

.PHONY: help check lint test doc deny static sandbox machine bench-agent clients verdicts

help:
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

check: lint doc test ## everything that must hold before a commit

lint: ## format and lints
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings

test: ## the tests
	cargo test --workspace --locked

doc: ## the API documentation, without a broken link
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --locked

deny: ## licences, sources, duplicates and, where the advisory database can be reached, advisories
	cargo deny --locked check

static: ## the static agent, and proof that it is static and small
	.ci/static

sandbox: ## every row of the failure matrix that needs no real machine
	cargo run --release --locked -p sandbox -- --all

machine: static ## every row that needs a real machine: containers and virtual machines (root, Debian)
	@if [ "$$(id -u)" = 0 ]; then tests/machine/prepare && tests/machine/image/build; fi
	cargo run --release --locked -p curfew-machine -- --agent $$(.ci/static --print) $(ROWS)

bench-agent: static ## the agent's figures
	cargo run --release --locked -p sandbox -- bench-agent --agent $$(.ci/static --print)

clients: ## real clients against the sandbox: kubectl, the Python libraries
	tests/clients/run

verdicts: ## what a real API server refuses (KUBECONFIG: a cluster of its own), against what the sandbox is held to
	tests/verdicts/real.py
