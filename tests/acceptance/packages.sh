#!/usr/bin/env bash
# Installs the packages of scripts/package in a fresh Debian 12 (debootstrap, needs root), and uses them:
#
#   1. libmatapprox-core-dev with its dependencies and a compiler: builds and runs tests/consumer/core
#   2. libmatapprox-dev: builds and runs the first program of tests/consumer
#   3. matapprox: compares a matrix, has its man page, and is removed again
#   4. python3-matapprox: the system's Python fits, saves and loads, and is removed again without a trace
#
#   tests/acceptance/packages.sh [FOLDER]     the system is made in FOLDER (/tmp/matapprox-debian) if it is not there
set -euo pipefail
root=${1:-/tmp/matapprox-debian}
cd "$(dirname "$(readlink -f "$0")")/../.."
[ -d "$root/usr" ] || debootstrap --variant=minbase bookworm "$root"
[ ! -f /etc/apt/apt.conf ] || cp /etc/apt/apt.conf "$root/etc/apt/apt.conf"
cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
cp /etc/resolv.conf "$root/etc/resolv.conf"
rm -rf "$root/packages" "$root/core"
mkdir "$root/packages"
cp build/packages/*.deb matrices/mesh2d.mtx "$root/packages/"
cp -r tests/consumer/core "$root/core"
rm -rf "$root/consumer"
cp -r tests/consumer "$root/consumer"
mount -t proc proc "$root/proc"
trap 'umount "$root/proc"' EXIT
within() {
  chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"
}
within apt-get -q update
within bash -c "apt-get -qy purge matapprox 'libmatapprox*' && apt-get -qy autoremove" >/dev/null 2>&1 || true
within bash -c "apt-get -qy install --no-install-recommends g++ cmake make /packages/libmatapprox-core-dev_*.deb" | tail -n 3
for unwanted in libhdf5-dev libmatio-dev libpng-dev nlohmann-json3-dev; do
  if within dpkg-query -s "$unwanted" >/dev/null 2>&1; then
    echo "packages: $unwanted came with the core" >&2
    exit 1
  fi
done
within bash -c "cmake -S /core -B /core/build -DCMAKE_BUILD_TYPE=Release && cmake --build /core/build && /core/build/core_consumer"
if within bash -c "mkdir -p /all && cd /all && printf 'cmake_minimum_required(VERSION 3.25)\nproject(all CXX)\nfind_package(matapprox REQUIRED)\n' >CMakeLists.txt && cmake -B /all/build" >/dev/null 2>&1; then
  echo "packages: find_package without COMPONENTS found what is not installed" >&2
  exit 1
fi
within bash -c "apt-get -qy install --no-install-recommends /packages/libmatapprox-dev_*.deb" | tail -n 3
within bash -c "cmake -S /consumer -B /consumer/build -DCMAKE_BUILD_TYPE=Release && cmake --build /consumer/build --target consumer && /consumer/build/consumer /packages/mesh2d.mtx /packages/mesh2d.h5"
within bash -c "apt-get -qy install --no-install-recommends /packages/matapprox_*.deb" | tail -n 3
within matapprox compare /packages/mesh2d.mtx
within test -s /usr/share/man/man1/matapprox.1 || within test -s /usr/share/man/man1/matapprox.1.gz
within matapprox attention list
within apt-get -qy remove matapprox | tail -n 1
within test ! -e /usr/bin/matapprox
within bash -c "apt-get -qy install --no-install-recommends /packages/python3-matapprox_*.deb" | tail -n 3
within /usr/bin/python3 -W error -c '
import importlib.metadata

import numpy as np
import matapprox as ma
from matapprox._layers import AttentionLayer

assert importlib.metadata.version("matapprox") == ma.__version__
A = ma.load("/packages/mesh2d.mtx")
B = ma.truncated_svd(A, 20)
B.save("/packages/b.h5")
assert np.array_equal(ma.load("/packages/b.h5").toarray(), B.toarray())
print(ma.compare(A, methods=["truncated_svd", "exact"]))
'
within apt-get -qy remove python3-matapprox | tail -n 1
within test ! -e /usr/lib/python3/dist-packages/matapprox
echo "packages: installed, used and removed"
