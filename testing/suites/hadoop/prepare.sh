# Hadoop's file systems under Spark 4 or 3.5: HDFS in one process, S3A with moto's server, ABFS with Azurite, and one that the tests define (800 MB of jars).
version=${environment##*spark}
export HYPERSLAB_HADOOP_JARS=$CACHE/hadoop-jars HYPERSLAB_MOTO_PYTHON=$VENVS/stores/bin/python HYPERSLAB_SPARK_JAR=$SPARK_JAR
locks=(testing/suites/spark/requirements.lock "testing/suites/spark/spark$version.lock")
prepared
packaging/environment.sh "$VENVS/stores" testing/suites/stores/requirements.lock
for jars in hdfs aws"$version" $([ "$version" != 4 ] || echo azure4); do
	[ "$HYPERSLAB_HADOOP_JARS/$jars/.fetched" -nt "$suite/$jars/pom.xml" ] && continue
	mvn -q -B -f "$suite/$jars/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$HYPERSLAB_HADOOP_JARS/$jars"
	touch "$HYPERSLAB_HADOOP_JARS/$jars/.fetched"
done
# ABFS that speaks the protocol of blobs, as Azurite does, comes with the Hadoop of Spark 4.
if [ "$version" = 4 ]; then
	command -v npm > /dev/null && testing/suites/stores/azurite/install.sh "$CACHE/azurite" \
		|| echo "*** NOT TESTED: abfs:// addresses. npm is missing, or could not install Azurite. ***"
fi
