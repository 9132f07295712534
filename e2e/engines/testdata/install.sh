#!/bin/bash
# Installs the engines that tests serve a model with, each in an environment of its own: install.sh UV FOLDER
set -euo pipefail
uv=$1 folder=$2 here=$(dirname "$(realpath "$0")")

environment() { # NAME MORE…: of the requirements of that name
    local python=$folder/$1/bin/python
    "$uv" venv --quiet --clear --python 3.11 "$folder/$1"
    "$uv" pip install --quiet --python "$python" -r "$here/$1.txt" "${@:2}"
}

# SGLang's kernels are linked against NVIDIA's library, even where no GPU is. It is not free, and so it is taken from
# the mirror that this machine's Debian knows, at each installation, with a state of apt's own.
libcuda() {
    local state scratch=$folder/libcuda.new
    state=$(mktemp -d)
    mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$scratch"
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        awk '$2 == "bookworm" && $3 == "main" { print "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]", $1, $2, "non-free" }' |
        sort -u >"$state/sources.list"
    local private=(-o APT::Sandbox::User=root -o "Dir::Etc::SourceList=$state/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State::Lists=$state/lists" -o "Dir::Cache=$state/cache")
    apt-get "${private[@]}" -qq update
    (cd "$scratch" && apt-get "${private[@]}" -qq download libcuda1 && dpkg-deb -x libcuda1_*.deb .)
    rm -rf "$folder/libcuda" "$state"
    mkdir -p "$folder/libcuda"
    find "$scratch" -name 'libcuda.so*' -exec cp -P {} "$folder/libcuda/" \;
    rm -rf "$scratch"
    test -e "$folder/libcuda/libcuda.so.1" || { echo "install.sh: libcuda1 has no libcuda.so.1" >&2; exit 1; }
}

mkdir -p "$folder"
environment sglang
environment vllm --override "$here/vllm-overrides.txt"
libcuda
