#!/bin/sh
# Builds FastBit from its published sources and fastbit.cpp with it, outside of the clone, and prints the path of the
# program:
#     benches/index/fastbit.sh FOLDER
# Fetches by git, the first time, from FASTBIT_REPOSITORY (GitHub if that is not set). Needs a C++ compiler and the header of
# flex (Debian's libfl-dev is unpacked into FOLDER where it is missing).
set -e
# Version 2.0.3, the last one.
COMMIT=2db0cc7bb7a7378f722f0889818324fe6b2ac916
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
    # Pointers are compared with 0 by >; what else is mended got lost or doubled on the sources' way into git: a method that is
    # there twice, a variable that is not declared, the head of a function.
    sed -i 's/m_begin > 0/m_begin != 0/' sources/src/array_t.h sources/src/array_t.cpp
    awk '/bool empty\(\) const/ && seen++ {next} {print}' sources/src/index.h > sources/src/index.h.new
    mv sources/src/index.h.new sources/src/index.h
    perl -0pi -e 's/(doScan\(const array_t<float> &vals,\s*const ibis::qContinuousRange &rng,\s*const ibis::bitvector &mask,\s*ibis::bitvector &hits\) \{\n    long ierr = -2;\n)/$1    const bool uncomp = ((mask.size() >> 8) < mask.cnt());\n/' sources/src/part.cpp
    perl -0pi -e 's/(\} \/\/ ibis::bin::parseNbins\n\n)(    histogram hist;)/$1void ibis::bin::scanAndPartition(const char* f, unsigned eqw, uint32_t nbins) {\n    if (col == 0) return;\n\n$2/' sources/src/ibin.cpp
    (cd sources && ./configure --disable-java --disable-contrib CC=cc CXX=c++ CPPFLAGS="-I$PWD/../flex/usr/include" CXXFLAGS="-std=gnu++11 -fpermissive -w -DFLEX_STD=std:: -I$PWD/../flex/usr/include" > configure.log 2>&1) || { tail -2 sources/configure.log >&2; exit 1; }
    touch sources/.patched
fi
flags="-std=gnu++11 -fpermissive -w -DFLEX_STD=std:: -DHAVE_CONFIG_H -Isources/src -Iflex/usr/include"
mkdir -p objects
for source in sources/src/*.cpp sources/src/*.cc; do
    object=objects/$(basename "$source").o
    case $source in
        # The interfaces for C are of no use here.
        */capi.cpp | */iapi.cpp) continue ;;
        # Nor are joins, tables in memory, histograms of two and three variables and other kinds of index than bins with a bitmap
        # each, but without them it does not link; they take a compiler half an hour with -O2.
        */bord*.cpp | */parth?d*.cpp | */mensa.cpp | */tafel.cpp | */j*.cpp | */quaere.cpp | */filter.cpp | */meshQuery.cpp) level=-O0 ;;
        */ic*.cpp | */id*.cpp | */if*.cpp | */ik*.cpp | */im*.cpp | */ir*.cpp | */is*.cpp | */ix*.cpp | */category.cpp | */*.cc) level=-O0 ;;
        *) level=-O2 ;;
    esac
    [ -e "$object" ] || echo "$level $source $object"
done | xargs -r -P "${FASTBIT_JOBS:-2}" -L 1 sh -c 'c++ '"$flags"' $0 -c "$1" -o "$2.part" && mv "$2.part" "$2"' >&2
c++ $flags -O2 "$here/fastbit.cpp" objects/*.o -o fastbit.part -lpthread >&2
mv fastbit.part fastbit
echo "$1/fastbit"
