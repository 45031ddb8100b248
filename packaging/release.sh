#!/usr/bin/env bash
# release.sh FOLDER: wheel with the portable jar, sdist, jar, notes, licenses and the list of what is compiled in (SBOM) of this version. Nothing is published.
set -euo pipefail
release=$1
licenses=bindings/python/python/hyperslab/licenses
rm -rf "$release" && mkdir -p "$release"
python3 testing/repo/release_notes.py CHANGELOG.md "$VERSION" > "$release/notes.md"
cp "$PORTABLE_JAR" "$release"
mkdir -p bindings/python/python/hyperslab/jars && cp "$PORTABLE_JAR" bindings/python/python/hyperslab/jars/hyperslab-spark.jar
.venv/bin/python packaging/bundled.py "$licenses"
.venv/bin/maturin build --release --locked --strip --out "$release"
.venv/bin/maturin sdist --out "$release"
# Not `grep -q`: it would end while tar still writes.
tar -tzf "$release"/*.tar.gz | grep viewer/static/index.html > /dev/null || { echo "the sdist lacks the viewer's pages"; exit 1; }
cp "$licenses"/* "$release"
unzip -p "$release"/*.whl '*.cyclonedx.json' > "$release/sbom.cyclonedx.json"
.venv/bin/python -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["components"]), "crates in", sys.argv[1])' "$release/sbom.cyclonedx.json"
