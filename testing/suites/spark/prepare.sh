# The version of Spark is in the name of the environment: spark4, spark3.
locks+=("$suite/${environment##*/}.lock")
prepared
export HYPERSLAB_SPARK_JAR=${HYPERSLAB_SPARK_JAR:-$SPARK_JAR}
