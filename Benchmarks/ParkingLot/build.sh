#!/bin/sh
# Builds the program that races parking_lot's Mutex, from the crates that `scripts/require bench`
# has unpacked, and from nothing else.
set -eu
cd "$(dirname "$0")/../.."
# Cargo writes its lock file beside the manifest, so it builds from a copy.
build=Benchmarks/build/parking-lot
mkdir -p $build/src
cp Benchmarks/ParkingLot/Cargo.toml $build
cp Benchmarks/ParkingLot/src/main.rs $build/src
cargo build --quiet --release --offline --manifest-path $build/Cargo.toml --target-dir $build \
    --config 'source.crates-io.replace-with="debian"' \
    --config "source.debian.directory=\"$PWD/.build-tools/crates\""
