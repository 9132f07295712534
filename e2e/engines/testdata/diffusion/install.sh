#!/bin/bash
# Adds to an environment of SGLang what its workers of diffusion import, in an environment of its own above it: install.sh UV FOLDER
set -euo pipefail
uv=$1 folder=$2 here=$(dirname "$(realpath "$0")")
"$uv" venv --quiet --clear --python 3.11 "$folder/diffusion"
below=$("$folder/sglang/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
above=$("$folder/diffusion/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
echo "import site; site.addsitedir('$below')" >"$above/sglang.pth"
"$uv" pip install --quiet --no-deps --python "$folder/diffusion/bin/python" -r "$here/requirements.txt"
