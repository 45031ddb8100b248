#!/usr/bin/env bash
# build.sh FOLDER: guides and API reference as one site, in FOLDER/site. Material is kept until 2027; then Zensical reads the same pages.
set -euo pipefail
folder=$1
environment=$VENVS/docs
packaging/environment.sh "$environment" docs/site/requirements.lock
rm -rf "$folder"
RUSTDOCFLAGS="-A rustdoc::private_intra_doc_links" cargo doc --locked --quiet --no-deps $CRATES
java=()
if command -v mvn > /dev/null; then
	mvn -q -B -f spark/pom.xml -Drevision="$VERSION" -Dout.folder="$PWD/$folder/java" \
		org.apache.maven.plugins:maven-javadoc-plugin:3.11.2:aggregate -Ddoclint=none
	java=(--java "$folder/java/parent/reports/apidocs")
else
	echo "*** NOT IN THE SITE: Javadoc. Maven is missing. ***"
fi
"$environment/bin/python" docs/site/stage.py "$folder/pages" --rust "$CARGO_TARGET_DIR/doc" "${java[@]}"
NO_MKDOCS_2_WARNING=1 "$environment/bin/mkdocs" build --strict -f docs/site/mkdocs.yml
echo "the site: $folder/site/index.html"
