arguments=(--folder "$folder" --json benches/results/edit.json)
