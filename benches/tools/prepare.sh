make --no-print-directory dump-tools
arguments=(--folder "$folder")
