#!/usr/bin/env bash
# Runs the tests of the Python package, as ctest does: `pip install .` into an environment of its
# own, then pytest, mypy and ruff.
#
#   tests/python/run.sh BUILD_FOLDER [PROGRAM]
#
# The environment stays in BUILD_FOLDER. Exit code 77, with a reason: something is missing that only
# a package manager or the network could provide.
set -euo pipefail
exec </dev/null
cd "$(dirname "$(readlink -f "$0")")/../.."
mkdir -p "$1"
build=$(readlink -f "$1")
requirements=tests/python/requirements.txt

skip() { echo "$1: skipped"; exit 77; }

python=$(command -v python3) || skip "there is no python3"
headers=$("$python" -c "import sysconfig; print(sysconfig.get_path('include'))")
[ -f "$headers/Python.h" ] || skip "there is no $headers/Python.h (python3-dev)"
"$python" -c "import ensurepip, venv" 2>/dev/null || skip "python3 cannot make an environment (python3-venv)"

venv=$build/python-venv
if ! cmp -s "$requirements" "$venv/requirements.txt"; then
  rm -rf "$venv"
  "$python" -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --retries 1 -r "$requirements" ||
    skip "packages of $requirements are not to be had"
  cp "$requirements" "$venv/"
fi
# A compiler cache contains the objects of the library if the compiler has the name that CMake
# uses and the folder is as deep as other builds.
CC=cc CXX=c++ "$venv/bin/pip" install --quiet --disable-pip-version-check --no-build-isolation --no-deps \
  --config-settings=build-dir=build/python .

export MATAPPROX_PROGRAM=${2:-}
"$venv/bin/python" -m pytest -q --durations=5 -p no:cacheprovider tests/python
"$venv/bin/python" tests/python/write_stub.py --check
"$venv/bin/mypy" --cache-dir="$build/mypy"
"$venv/bin/ruff" check --no-cache python tests/python docs/site scripts/bench/python_binding.py scripts/bench/python_peers.py
"$venv/bin/ruff" format --no-cache --check python tests/python docs/site scripts/bench/python_binding.py scripts/bench/python_peers.py
