arguments=(--folder "$folder")
