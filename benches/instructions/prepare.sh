command -v valgrind > /dev/null || { echo "valgrind is missing, so no instructions were counted: apt-get install valgrind"; exit 0; }
cargo build --release --locked --quiet -p hyperslab-bench
arguments=("$CARGO_TARGET_DIR/release/hyperslab-bench")
