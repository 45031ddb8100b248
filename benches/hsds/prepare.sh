arguments=("$PWD/.venv/bin/python" "$folder")
