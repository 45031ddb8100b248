# ADBC's driver is a wheel; the JDBC driver comes from Maven, and its test compiles a client with javac.
prepared
export HYPERSLAB_PYTHON=$PWD/.venv/bin/python HYPERSLAB_JDBC=$CACHE/serve-jars
if ! command -v mvn > /dev/null; then
	echo "*** NOT TESTED: JDBC. Maven is missing. ***"
elif [ ! "$HYPERSLAB_JDBC/.fetched" -nt "$suite/pom.xml" ]; then
	mvn -q -B -f "$suite/pom.xml" dependency:copy-dependencies -DoutputDirectory="$HYPERSLAB_JDBC"
	touch "$HYPERSLAB_JDBC/.fetched"
fi
