#!/usr/bin/env bash
# Builds the crate and its example without a network, runs the crate's tests, and holds the example against the rules. // D9
# usage: check.sh CARGO SOURCE TARGET WAYBILL: cargo, this folder, a folder to build in, and the waybill program.
set -euo pipefail
cargo=$1 source=$2 target=$3 waybill=$4
export CARGO_TARGET_DIR=$target CARGO_NET_OFFLINE=true
if ! "$cargo" --version >/dev/null 2>&1; then
  echo "skipped: cargo does not run here"
  exit 77
fi
"$cargo" build --release --locked --workspace --manifest-path "$source/Cargo.toml"
"$cargo" test --release --locked --workspace --manifest-path "$source/Cargo.toml"
"$waybill" plugin check "$target/release/libnote.so" --samples "$source/example/check.json"
