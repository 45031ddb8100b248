LD_LIBRARY_PATH=$("$suite/environment.sh" "$environment" "${locks[@]}") || untested "hyperslab.torch_datasets. Debian's package python3-torch could not be unpacked."
export LD_LIBRARY_PATH
