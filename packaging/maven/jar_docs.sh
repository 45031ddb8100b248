#!/usr/bin/env bash
# jar_docs.sh FOLDER: the jars of Java's sources and of Javadoc, for repositories that want them next to the jar.
set -euo pipefail
command -v mvn > /dev/null || { echo "Maven is missing: install Maven 3.8 or newer and a JDK 17"; exit 1; }
rm -rf "$1" && mkdir -p "$1"
run() { mvn -q -B -f spark/pom.xml -Drevision="$VERSION" -Dout.folder="$PWD/$1/maven" "${@:2}"; }
run "$1" -Dmaven.source.excludeResources=true org.apache.maven.plugins:maven-source-plugin:3.3.1:aggregate
run "$1" -Ddoclint=none org.apache.maven.plugins:maven-javadoc-plugin:3.11.2:aggregate-jar
for part in sources javadoc; do mv "$1"/maven/parent/*-$part.jar "$1/hyperslab-spark-$VERSION-$part.jar"; done
rm -rf "$1/maven" && ls -l "$1"
