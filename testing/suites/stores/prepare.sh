# S3 by moto, stores of obstore, fsspec over HTTP; Azure by Azurite, Microsoft's own server, from the npm registry (360 MB).
borrow=--borrow
prepared
after() {
	if command -v npm > /dev/null && "$suite"/azurite/install.sh "$CACHE/azurite"; then
		HYPERSLAB_AZURITE=$CACHE/azurite PYTHONPATH=$path "$environment/bin/python" -m pytest -q -p no:cacheprovider testing/remote/test_remote_clouds.py
	else
		echo "*** NOT TESTED: az:// addresses. npm is missing, or could not install Azurite. ***"
	fi
}
