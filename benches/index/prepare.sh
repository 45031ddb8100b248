# Spark is measured where `make test-spark-4` has been.
export HYPERSLAB_SPARK_PYTHON=$VENVS/spark4/bin/python HYPERSLAB_SPARK_JAR=$SPARK_JAR
case $program in
*/run.py) arguments=("$folder" --json benches/results/index.json) ;;
*) arguments=(--folder "$folder") ;;
esac
