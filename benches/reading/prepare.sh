# The jars and the environment of the peers lie outside of the clone, as the data do.
if [ ! "$CACHE/bench-jars" -nt benches/reading/contestants/jhdf/pom.xml ]; then
	mvn -q -B -f benches/reading/contestants/jhdf/pom.xml dependency:copy-dependencies -DoutputDirectory="$CACHE/bench-jars"
	touch "$CACHE/bench-jars"
fi
packaging/environment.sh "$VENVS/xarray-sql" benches/reading/contestants/xarray-sql.lock
cargo build --release --locked -p hyperslab-bench
for crate in limit peers; do cargo build --release --locked --manifest-path "benches/$crate/Cargo.toml"; done
arguments=(--json benches/results/read.json)
