#!/bin/sh
# Builds FastBit from its published sources and fastbit.cpp with it, outside of the clone, and prints the path of the
# program:
#     benches/index/fastbit.sh FOLDER
# Fetches by git, the first time, from FASTBIT_REPOSITORY (GitHub if that is not set). Needs a C++ compiler and the header of
# flex (Debian's libfl-dev is unpacked into FOLDER where it is missing).
set -e
# Version 1.3.7.4 of 2013. Of later ones this repository has files in which pieces are missing.
COMMIT=f573fe426fab27387655b83b719b46e8d165b061
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
if ! echo '#include <FlexLexer.h>' | c++ -E -x c++ - > /dev/null 2>&1 && [ ! -e flex/usr/include/FlexLexer.h ]; then
    mkdir -p flex
    (cd flex && apt-get download -qq libfl-dev >&2 && dpkg -x libfl-dev_*.deb .)
fi
if [ ! -e sources/.patched ]; then
    rm -rf sources
    git clone --quiet "${FASTBIT_REPOSITORY:-https://github.com/gingi/fastbit}" sources >&2
    git -C sources checkout --quiet $COMMIT
    # Compilers of today do not compare pointers with 0 by >.
    sed -i 's/m_begin > 0/m_begin != 0/' sources/src/array_t.h sources/src/array_t.cpp
    (cd sources && ./configure --disable-java --disable-contrib CC=cc CXX=c++ CPPFLAGS=-I../flex/usr/include > configure.log 2>&1) || { tail -2 sources/configure.log >&2; exit 1; }
    touch sources/.patched
fi
flags="-std=gnu++11 -fpermissive -w -DFLEX_STD=std:: -DHAVE_CONFIG_H -Isources/src -Iflex/usr/include"
mkdir -p objects
for source in sources/src/*.cpp sources/src/*.cc; do
    object=objects/$(basename "$source").o
    case $source in
        # The interfaces for C are of no use here.
        */capi.cpp | */iapi.cpp) continue ;;
        # Nor are joins, tables in memory and histograms of two and three variables, but without them it does not link; they
        # take a compiler a quarter of an hour with -O2.
        */bord*.cpp | */parth?d*.cpp | */mensa.cpp | */tafel.cpp | */j*.cpp | */quaere.cpp | */filter.cpp | */meshQuery.cpp) level=-O0 ;;
        *) level=-O2 ;;
    esac
    [ -e "$object" ] || echo "$level $source $object"
done | xargs -P "${FASTBIT_JOBS:-2}" -L 1 sh -c 'c++ '"$flags"' $0 -c "$1" -o "$2.part" && mv "$2.part" "$2"' >&2
c++ $flags -O2 "$here/fastbit.cpp" objects/*.o -o fastbit.part -lpthread >&2
mv fastbit.part fastbit
echo "$1/fastbit"
