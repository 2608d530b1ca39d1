#!/usr/bin/env bash
# Size of a new environment with the package and what it needs at run time; fails above the limit.
# usage: footprint.sh [RESULT.json]
set -euo pipefail
cd "$(dirname "$0")/.."

limit_mb=${LIMIT_MB:-450}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"${PYTHON:-python3}" -m venv "$scratch/venv"
"$scratch/venv/bin/python" -m pip install --quiet --disable-pip-version-check -c constraints.txt .
rm -rf build
size_mb=$(du -sm "$scratch/venv" | cut -f 1)
packages=$("$scratch/venv/bin/python" -m pip list --format=freeze | wc -l | tr -d ' ')

echo "installed environment: $size_mb MB of at most $limit_mb, $packages packages"
if [ $# -gt 0 ]; then
    printf '{"size_mb": %s, "limit_mb": %s, "packages": %s}\n' "$size_mb" "$limit_mb" "$packages" >"$1"
fi
test "$size_mb" -le "$limit_mb"
