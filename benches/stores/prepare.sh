case $program in
*/run.py) arguments=(--folder "$folder" --json "$folder/results.json") ;;
esac
