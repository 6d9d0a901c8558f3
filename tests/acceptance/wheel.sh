#!/usr/bin/env bash
# Installs the wheel of scripts/wheel into empty environments and measures it, by hand:
#
#   tests/acceptance/wheel.sh PYTHON...     CPython 3.10, 3.11, 3.12, 3.13 in the first place
#
# For each: at most 30 s from the start of `pip install` to the end of `matapprox compare`, and an import
# of matapprox at most 60 ms (median of 21) longer than that of NumPy and SciPy. Then tests/python in the last,
# with the packages of its requirements.txt and the program of the wheel.
set -euo pipefail
exec </dev/null
[ $# -gt 0 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2; }
cd "$(dirname "$(readlink -f "$0")")/../.."
wheel=$(readlink -f build/wheels/*.whl)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

measure_import='
import statistics, subprocess, sys
code = ("import time; import numpy, scipy.sparse.linalg; began = time.perf_counter();"
        "import matapprox; print(time.perf_counter() - began)")
runs = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(22)][1:]
print(f"{1e3 * statistics.median(runs):.0f} {1e3 * min(runs):.0f}")
'
failed=0
for python in "$@"; do
  venv=$folder/venv
  rm -rf "$venv"
  "$python" -m venv "$venv"
  began=$(date +%s.%N)
  "$venv/bin/pip" install --quiet --disable-pip-version-check "$wheel"
  installed=$(date +%s.%N)
  "$venv/bin/matapprox" compare matrices/factor_model.mtx >"$folder/table"
  ended=$(date +%s.%N)
  read -r median fastest < <("$venv/bin/python" -c "$measure_import")
  awk -v name="$("$python" --version)" -v a="$began" -v b="$installed" -v c="$ended" -v m="$median" -v f="$fastest" \
    -v busy="$(cut -d' ' -f1 /proc/loadavg)" 'BEGIN {
      printf "%s: pip install %.1f s, compare %.1f s, import %d ms (fastest %d ms), load average %s\n", name, b - a, c - b, m, f, busy
      exit c - a > 30 || m > 60 }' || { echo "wheel: more than 30 s, or more than 60 ms" >&2; failed=1; }
done
cat "$folder/table"
"$venv/bin/pip" install --quiet --disable-pip-version-check -r tests/python/requirements.txt
(cd "$folder" && MATAPPROX_PROGRAM=$venv/bin/matapprox "$venv/bin/python" -m pytest -q -p no:cacheprovider \
  -c "$OLDPWD/pyproject.toml" --rootdir "$OLDPWD" "$OLDPWD/tests/python")
exit $failed
