make --no-print-directory jar
environment=$VENVS/spark4
packaging/environment.sh "$environment" testing/suites/spark/requirements.lock testing/suites/spark/spark4.lock
export HYPERSLAB_SPARK_JAR=$SPARK_JAR
arguments=(--folder "$folder" --json benches/results/spark.json)
