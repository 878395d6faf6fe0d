#!/usr/bin/env bash
# Lays out a production tree of the packed tarball: what is in the package, and the dependencies it runs with at the
# versions of the lock file, no others. The image and the package proof both do it by this script.
# Usage: assemble.sh TARBALL LOCKFILE FOLDER
set -euo pipefail
tarball=$(realpath "$1")
lock=$(realpath "$2")
folder=$3
mkdir -p "$folder"
tar -xzf "$tarball" -C "$folder" --strip-components=1 --no-same-owner
cp "$lock" "$folder/package-lock.json"
cd "$folder"
npm ci --omit=dev --ignore-scripts --no-audit --no-fund
