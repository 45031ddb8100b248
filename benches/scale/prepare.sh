arguments=(--json benches/results/scale.json)
