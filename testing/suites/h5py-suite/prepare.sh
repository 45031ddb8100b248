# Each read of h5py's own tests, which come with its wheel, made by Hyperslab too. In the project's own environment.
environment=.venv
tests() {
	local python=$PWD/.venv/bin/python
	(cd /tmp && PYTHONPATH=$path:$OLDPWD/$suite:$OLDPWD/testing/lib "$python" -m pytest -q -p no:cacheprovider -p mirror -W ignore --pyargs h5py ${TESTS:-})
}
