#!/bin/bash
# tables.sh: keeps each text that a generated file of sql/tables ever had in tables.tar.gz beside this file, as TABLE/N.sql, the oldest first.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd) work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$(git rev-parse --show-toplevel)"
for commit in $(git log --reverse --format=%h -- sql/tables); do
	for path in $(git diff-tree --root --no-commit-id --name-only --diff-filter=d -r "$commit" -- sql/tables); do
		git show "$commit:$path" >"$work/text"
		grep -q '^-- Code generated' "$work/text" || continue
		table=$(basename "$path" .sql | cut -d_ -f2-)
		mkdir -p "$work/kept/$table"
		n=$(find "$work/kept/$table" -type f | wc -l)
		sed -E "s/ COMMENT '([^']|'')*'//" "$work/text" | grep -v '^-- [QGRE]' >"$work/bare"
		sum=$(md5sum <"$work/bare") # comments do not matter
		grep -qsxF "$sum" "$work/$table.sums" && continue
		echo "$sum" >>"$work/$table.sums"
		mv "$work/bare" "$work/kept/$table/$(printf %02d "$n").sql"
	done
done
tar -C "$work/kept" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - . | gzip -9n >"$here/tables.tar.gz"
