# h5py's own tests, which come with its wheel, in the project's own environment: once with each read made by Hyperslab, too; once with
# `hyperslab.h5py` in h5py's place, for reading, writing and editing.
environment=.venv
tests() {
	local python=$PWD/.venv/bin/python folder
	folder=$("$python" -c 'import h5py, os; print(os.path.dirname(h5py.__file__))')/tests
	(cd /tmp && PYTHONPATH=$path:$OLDPWD/$suite:$OLDPWD/testing/lib "$python" -m pytest -q -p no:cacheprovider -p mirror -W ignore --pyargs h5py ${TESTS:-})
	(cd /tmp && PYTHONPATH=$path:$OLDPWD/$suite "$python" -m pytest -q -p no:cacheprovider -p in_place -W ignore "$folder" ${TESTS:-})
}
