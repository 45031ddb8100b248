#!/usr/bin/env bash
# install.sh REPOSITORY: the jar with its pom, licenses, sources and Javadoc in a Maven repository, which is a folder.
set -euo pipefail
parts=build/maven/parts docs=build/jar-docs name=hyperslab-spark-$VERSION
rm -rf $parts && mkdir -p $parts/licenses/META-INF
cp "$SPARK_JAR" "$parts/$name.jar" && cp LICENSE $parts/licenses/META-INF
python3 packaging/bundled.py $parts/licenses/META-INF "" hyperslab-jni
jar --update --file "$parts/$name.jar" -C $parts/licenses META-INF
sed "s/@VERSION@/$VERSION/" packaging/maven/hyperslab-spark.pom > "$parts/$name.pom"
mvn -q -B org.apache.maven.plugins:maven-install-plugin:3.1.2:install-file -DlocalRepositoryPath="$1" -Dfile="$parts/$name.jar" \
	-DpomFile="$parts/$name.pom" -Dsources="$docs/$name-sources.jar" -Djavadoc="$docs/$name-javadoc.jar"
rm -rf $parts && ls -l "$1/io/hyperslab/hyperslab-spark/$VERSION"
