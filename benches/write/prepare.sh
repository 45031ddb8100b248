# Parallel HDF5 2.2 with the subfiling driver is built once (two minutes).
mpi=$VENVS/mpi hdf5=$CACHE/hdf5-parallel vpic=$CACHE/bench/vpic
packaging/environment.sh "$mpi" testing/suites/mpi/requirements.lock
benches/write/build-hdf5.sh "$hdf5" "$mpi"
if [ ! "$vpic" -nt benches/write/vpic.c ]; then
	mkdir -p "$CACHE/bench"
	PATH="$mpi/bin:$PATH" mpicc -O2 -D_GNU_SOURCE -I"$hdf5/installed/include" benches/write/vpic.c -o "$vpic" \
		-L"$hdf5/installed/lib" -lhdf5 -Wl,-rpath,"$hdf5/installed/lib"
fi
case $program in
*/run.py) arguments=(--vpic "$vpic" --mpi "$mpi" --json benches/results/write.json) ;;
*/metadata.py) arguments=(--vpic "$vpic" --mpi "$mpi" --json benches/results/metadata.json) ;;
*/collecting.py) arguments=(--mpi "$mpi" --json benches/results/collecting.json) ;;
*/profile.py) arguments=("$PROFILE" "${REPEATS:-7}" vpic large appends growing subfiles many --mpi "$mpi" --vpic none) ;;
esac
