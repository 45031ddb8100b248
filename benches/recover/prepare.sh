make --no-print-directory dump-tools
program=testing/maintenance/measure.py
arguments=(--seeds 1 --corpus "$CACHE/conformance/files" --count "${COUNT:-600}")
