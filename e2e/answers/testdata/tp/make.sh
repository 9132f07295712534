#!/bin/sh
# Records the runs beside this file again: one small Llama, whole and split among ranks, with and without a fault in the
# last rank's part of a weight. MSPROBE_PYTHON has torch and mindstudio-probe 26.2, TORCH_PYTHON has torch. What is
# recorded names the folders of the interpreters' packages and of the script: let those be neutral.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
script=${TRAIN_TP:-$here/../../../../producers/torch/examples/train_tp.py}
collector=${COLLECTOR:-$here/../../../../producers/torch/src}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1 TENSORTAP_SPOOL="$work/spool" MASTER_ADDR=127.0.0.1 MASTER_PORT=29517

# ranks SIZE PYTHON ARGUMENT… runs so many ranks.
ranks() {
    size=$1
    python=$2
    shift 2
    rank=$((size - 1))
    while [ $rank -gt 0 ]; do
        RANK=$rank WORLD_SIZE=$size "$python" "$script" "$@" &
        rank=$((rank - 1))
    done
    RANK=0 WORLD_SIZE=$size "$python" "$script" "$@"
    wait
}

keep() {
    tar -C "$work" --sort=name --owner=0 --group=0 -cf - "$1" | gzip -9n > "$here/$1.tar.gz"
}

# msprobe NAME SIZE ARGUMENT…
msprobe() {
    name=$1
    size=$2
    shift 2
    ranks "$size" "$MSPROBE_PYTHON" --run "$name" --msprobe "$work/$name/dump" "$@"
    keep "$name"
}

# spool NAME SIZE ARGUMENT…
spool() {
    name=$1
    size=$2
    shift 2
    mkdir "$TENSORTAP_SPOOL"
    PYTHONPATH=$collector ranks "$size" "$TORCH_PYTHON" --run "$name" --level L0 --sketch --by dtensor "$@"
    mv "$TENSORTAP_SPOOL" "$work/$name"
    keep "$name"
}

msprobe whole 1
msprobe halves 2
msprobe quarters 4
msprobe scaled 2 --fault weight
spool spool_whole 1
spool spool_scaled 2 --fault weight
