cargo build --release --locked --quiet -p hyperslab-vol
case $program in
*/run.py) ;;
*) arguments=(--plugin "$CARGO_TARGET_DIR/release/libhyperslab_vol.so") ;;
esac
