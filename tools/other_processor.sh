#!/usr/bin/env bash
# Does everything pass on an older processor? `tools/other_processor.sh` runs both commands of the README in fresh
# clones, in both orders, with the functions of numpy, OpenBLAS, Numba and the C library that such a processor
# would take: their last digits differ. It needs .venv, takes one to three hours, and leaves nothing behind if all
# passes. `tools/other_processor.sh COMMAND...` runs one command so, such as .venv/bin/python -m pytest tests/tools.
set -euo pipefail
project=$(cd "$(dirname "$0")/.." && pwd)

# numpy refuses names that it does not know or that the processor lacks.
NPY_DISABLE_CPU_FEATURES=$("$project/.venv/bin/python" -c '
from numpy._core._multiarray_umath import __cpu_dispatch__ as chosen, __cpu_features__ as has
print(*(name for name in chosen if has.get(name)))')
export NPY_DISABLE_CPU_FEATURES
export OPENBLAS_CORETYPE=Prescott NUMBA_CPU_NAME=generic
export GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F

if [ $# -gt 0 ]; then
    exec "$@"
fi

reproduce() {
    python3 -m venv .venv &&
        .venv/bin/python -m pip install -q -c constraints.txt -e '.[workflow]' &&
        .venv/bin/python -m snakemake
}

check() {
    python3 -m venv .venv &&
        .venv/bin/python -m pip install -q -c constraints.txt -e '.[dev]' &&
        .venv/bin/python -m pytest
}

folder=$(mktemp -d)
for order in "reproduce check" "check reproduce"; do
    for step in $order; do
        clone="$folder/${order% *} first"
        [ -d "$clone" ] || git clone -q "$project" "$clone"
        printf '[%s] %s, in %s\n' "$(date +%T)" "$step" "$clone"
        (cd "$clone" && "$step")
    done
done
rm -rf "$folder"
echo "Both commands passed in both orders."
