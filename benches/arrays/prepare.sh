export ICECHUNK_LOG=error
arguments=(--folder "$folder")
