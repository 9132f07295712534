#!/usr/bin/env bash
# Builds a release of the commit that is checked out: release.sh UV PYTHON FOLDER. It reads the commit and not the working tree, and
# writes the same bytes each time; docs/RELEASE.md describes them. PYTHON is an environment of producers/torch/requirements-release.txt.
set -euo pipefail
umask 022
cd "$(dirname "$0")/../../.."
uv=$1 python=$2 out=$3
version=$(git describe --tags --always --abbrev=12)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
# For the oldest processors of each kind; without cgo, so that no program needs the C library of the machine that built it.
export CGO_ENABLED=0 GOFLAGS="-trimpath -buildvcs=false" GOAMD64=v1 GOARM64=v8.0
# zig builds its stubs of the C library once for all runs.
export ZIG_GLOBAL_CACHE_DIR="$PWD/.tools/release-zig"

mkdir -p "$tree" "$out"
rm -f "$out"/*
git -c tar.umask=022 archive HEAD | tar x -C "$tree" --no-same-owner
numbered=$(sed -n 's/^version = "\(.*\)"/\1/p' "$tree/producers/torch/pyproject.toml")
if tag=$(git describe --tags --exact-match 2>/dev/null) && [ "$tag" != "v$numbered" ]; then
	echo "the tag is $tag, the version in pyproject.toml $numbered: they must agree" >&2
	exit 1
fi

# pack FOLDER NAME archives FOLDER/NAME. Equal content gives equal bytes.
pack() {
	tar -C "$1" --format=ustar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -cf - "$2" | gzip -9n >"$out/$2.tar.gz"
}

build() {
	"$uv" build --quiet --no-build-isolation --python "$python" "$@"
}

# The programs carry the page.
(cd "$tree/web" && npm ci --ignore-scripts --no-audit --no-fund --silent && npm run --silent build)

sdist=tensortap-$numbered
build --sdist -o "$work/built" "$tree/producers/torch"
tar xzf "$work/built/$sdist.tar.gz" -C "$work"
pack "$work" "$sdist"

package=$(dirname "$(find "$tree/producers/torch" -path '*/tensortap/__init__.py')")
for machine in x86_64:amd64 aarch64:arm64; do
	processor=${machine%:*} go=${machine#*:}
	here=$work/$processor
	mkdir -p "$here"
	# From the unpacked sdist alone.
	tar xzf "$out/$sdist.tar.gz" -C "$here"
	CC="$python -m ziglang cc -target $processor-linux-gnu.2.17 -g0 -s" \
		build --wheel -C=--build-option=--plat-name="manylinux_2_17_$processor" -o "$out" "$here/$sdist"
	# The program carries the very kernel of the wheel.
	"$python" -m zipfile -e "$out/$sdist-py3-none-manylinux_2_17_$processor.whl" "$here/wheel"
	kernel=$(cd "$here/wheel" && find . -name '*.so')
	cp "$here/wheel/$kernel" "$(dirname "$package")/$kernel"
	program=tensortap-$version-linux-$go
	mkdir "$here/$program"
	(cd "$tree" && GOARCH=$go go build -ldflags "-s -w -buildid= -X main.version=$version" -o "$here/$program/tensortap" ./cmd/tensortap)
	cp "$tree/LICENSE" "$here/$program"
	(cd "$tree" && go run ./internal/dev/thirdparty -notices) >"$here/$program/NOTICES"
	pack "$here" "$program"
done
(cd "$tree" && go run ./internal/dev/thirdparty -bill "$version" -made "$SOURCE_DATE_EPOCH" "$work"/*/tensortap-*-linux-*/tensortap) \
	>"$out/tensortap-$version.cdx.json"
rm -f "$out/.gitignore" # which uv leaves
(cd "$out" && sha256sum -- * >"$work/sums" && mv "$work/sums" SHA256SUMS)
