#!/usr/bin/env bash
# dump_tools.sh FOLDER: h5dump and ncdump for tests, if they are not installed. Debian's packages are unpacked into the folder; nothing is installed.
if command -v h5dump > /dev/null && command -v ncdump > /dev/null || [ -e "$1/.installed" ]; then exit 0; fi
mkdir -p "$1/packages" && cd "$1/packages" \
	&& apt-get download -qq hdf5-tools netcdf-bin libnetcdf19 libhdf5-103-1 libhdf5-hl-100 libsz2 libaec0 2> /dev/null \
	&& for package in *.deb; do dpkg -x "$package" ..; done && touch ../.installed \
	|| echo "*** NOT TESTED: h5dump and ncdump on files of ours. Neither they nor Debian's packages are here. ***"
