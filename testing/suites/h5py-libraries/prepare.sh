# Libraries that read with h5py, over hyperslab.h5py; then h5netcdf's own tests.
prepared
path=$path:$PWD/$suite
after() { (cd /tmp && PYTHONPATH=$path "$environment/bin/python" -m pytest -q -p no:cacheprovider -p h5netcdf_plugin -W ignore --pyargs h5netcdf); }
