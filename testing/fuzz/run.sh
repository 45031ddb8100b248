#!/usr/bin/env bash
# Every fuzz target for SECONDS_EACH=60, or FUZZ_TARGETS="heaps trees", with cargo-fuzz, which is built once outside of the clone.
# What an input of a few KiB may cost: 5 seconds, 64 MiB at once. Findings are kept next to the corpus.
set -euo pipefail
rustup toolchain list | grep -q nightly || { echo "nightly Rust is missing: rustup toolchain install nightly"; exit 1; }
tools=$CACHE/tools folder=$CACHE/fuzz
[ -x "$tools/bin/cargo-fuzz" ] || cargo install cargo-fuzz --locked --version 0.13.1 --root "$tools"
.venv/bin/python testing/hostile/corpus.py "$folder/seeds"
HYPERSLAB_FUZZ_WRITE_SEEDS=$folder/seeds HYPERSLAB_FUZZ_SECONDS=1 cargo test --locked --quiet -p hyperslab-formats -p hyperslab \
	--test fuzz_short -- references documents containers sidecars
for target in ${FUZZ_TARGETS:-whole_file filters messages heaps trees references read_sizes documents containers sidecars}; do
	seeds=files longest=33000 features=
	case $target in
	filters | messages) seeds=$target longest=4096 ;;
	heaps | trees) seeds=$target longest=16000 ;;
	references | documents) seeds=$target ;;
	containers | sidecars) seeds=$target longest=100000 ;;
	esac
	case $target in read_sizes | documents | containers | sidecars) features="--features core" ;; esac
	mkdir -p "$folder/$target" "$folder/findings" "$folder/seeds/$seeds"
	CARGO_TARGET_DIR=$CARGO_TARGET_DIR/fuzz PATH="$tools/bin:$PATH" cargo +nightly fuzz run --fuzz-dir testing/fuzz $features \
		"$target" "$folder/$target" "$folder/seeds/$seeds" -- -max_total_time="${SECONDS_EACH:-60}" -max_len=$longest -timeout=5 \
		-rss_limit_mb=2048 -malloc_limit_mb=64 -print_final_stats=1 -artifact_prefix="$folder/findings/$target-"
done
