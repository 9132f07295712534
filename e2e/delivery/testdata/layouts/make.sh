#!/bin/bash
# make.sh COMMIT: keeps what the program of that commit leaves on a disk, in COMMIT.tar.gz beside this file: a data folder with two
# published dumps, a stored comparison and the beginning of a live run, whose system was then killed; the spool in which that run went on
# to its end; and, in answers, what that program said of all that while it ran.
set -euo pipefail
commit=$(git rev-parse --short "$1") here=$(cd "$(dirname "$0")" && pwd) top=$(git rev-parse --show-toplevel)
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; git -C "$top" worktree remove --force "$work/source"; rm -rf "$work"' EXIT
git -C "$top" worktree add -q --detach "$work/source" "$commit"
ln -s "$top/.tools" "$work/source/.tools"
make -s -C "$work/source" build >"$work/log" 2>&1

export TENSORTAP_DATA=$work/kept/data TENSORTAP_SPOOL=$work/kept/data/spool OMP_NUM_THREADS=1
TENSORTAP_ENGINE=$(echo "$top"/internal/embedded/libchdb/node_modules/@chdb/*/libchdb.so) && export TENSORTAP_ENGINE
tap() { "$work/source/bin/tensortap" "$@"; }
until_is() { # until_is WANTED SQL
	for _ in $(seq 600); do [ "$(tap query "$2" --output csv 2>>"$work/log" | tail -n +2)" = "$1" ] && return; sleep 0.5; done
	echo "no $1: $2" >&2; exit 1
}
mkdir -p "$work/kept/answers"
"$work/source/bin/tensortap" up >>"$work/log" 2>&1 & # not by the function, whose process would be another
up=$!
until_is 1 'SELECT 1 AS one'

for run in B02_weight_L0 B00_golden_L0; do
	tar xzf "$top/producers/msprobe/testdata/dumps/$run.tar.gz" -C "$work"
	tap publish msprobe "$work/$run/dump" --run "$run" >>"$work/log"
done
tap compare B02_weight_L0 B00_golden_L0 >>"$work/log" || test $? -eq 1

mkfifo "$work/go"
exec 3<>"$work/go"
(cd "$work/source/producers/torch" && PYTHONPATH=src:. "$top/.tools/torch/bin/python" "$here/live.py" <"$work/go") &
live=$!
until_is 3 "SELECT count() AS n FROM tap.steps AS s INNER JOIN tap.runs AS r ON r.run_id = s.run_id WHERE r.name = 'live'"
for question in "$here"/*.sql; do
	tap query "$(cat "$question")" --output csv >"$work/kept/answers/$(basename "$question" .sql)"
done
kill -KILL $up
wait $up || true
echo on >&3
wait $live
tar -C "$work/kept" --sort=name --owner=0 --group=0 --numeric-owner -cf - . | gzip -9n >"$here/$commit.tar.gz"
ls -l "$here/$commit.tar.gz"
