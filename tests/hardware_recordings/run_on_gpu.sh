#!/bin/sh
# Records the suite on the GPU of this machine: run_on_gpu.sh OUTPUT-DIRECTORY [SHARDS].
# Shards run side by side; each continues its own file when the script is run again. RECORDER may name a program built
# elsewhere; otherwise a record-only one is built here (it needs fmt, CLI11, nlohmann-json and the CUDA headers, but
# neither the emulator nor a driver to link with).
set -eu
output=$1
shards=${2:-4}
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$output"

if [ -z "${RECORDER:-}" ]; then
  RECORDER=$output/hardware_recordings
  sources=$(find "$root/tests/hardware_recordings" -name '*.cpp' ! -name emulator_backend.cpp)
  # shellcheck disable=SC2086
  ${CXX:-g++} -std=c++20 -O1 -DFMT_HEADER_ONLY -I"$root" -I"${CUDA_HOME:-/usr/local/cuda}/include" $sources \
    "$root/common/command_line/command_line.cpp" "$root/common/device/cuda_driver.cpp" -o "$RECORDER" -ldl -lpthread
fi

shard=0
while [ "$shard" -lt "$shards" ]; do
  "$RECORDER" record --out "$output/shard-$shard.bin" --shard "$shard/$shards" &
  shard=$((shard + 1))
done
wait
# shellcheck disable=SC2046
"$RECORDER" merge --out "$output/full.bin" $(seq -f "$output/shard-%g.bin" 0 $((shards - 1)))
"$RECORDER" findings "$output/full.bin"
