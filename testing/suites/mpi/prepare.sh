# mpich and mpi4py are wheels. HYPERSLAB_NO_MPI=1 leaves the suite out.
[ -z "${HYPERSLAB_NO_MPI:-}" ] && prepared || untested "hyperslab.mpi. The wheels of $suite/requirements.txt could not be installed."
export LD_LIBRARY_PATH=$environment/lib
