cargo build --release --locked --quiet -p hyperslab-formats --example decode_chunks
arguments=("$CARGO_TARGET_DIR/release/examples/decode_chunks")
