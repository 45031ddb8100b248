# The slow server of testing/lib.
prepared
path=$path:$PWD/testing/lib
