#!/bin/sh
# Runs the tests labelled gpu on a machine with an NVIDIA GPU.
#
#   tests/gpu/run_on_gpu.sh               configure, build and run here; falls back to `run build/gpu-pack` when the packages
#                                         that the build needs (fmt, GoogleTest, nlohmann-json) are not installed
#   tests/gpu/run_on_gpu.sh pack [DIR]    on any build machine: build, and put programs and shared libraries into DIR
#   tests/gpu/run_on_gpu.sh run [DIR]     run what was packed; needs nothing but the CUDA driver
#
# DIR is build/gpu-pack unless given. Every program is named *_gpu_test. Results of `run` are in DIR/<program>.xml.
set -eu
cd "$(dirname "$0")/../.."
mode=${1:-here}
pack=${2:-build/gpu-pack}
tree=build/gpu

build() {
  generator=
  if command -v ninja >/dev/null; then generator="-G Ninja"; fi
  # shellcheck disable=SC2086
  cmake -S . -B "$tree" $generator -DCMAKE_BUILD_TYPE=RelWithDebInfo && cmake --build "$tree" --target gpu_tests --parallel
}

run_packed() {
  failed=0
  found=0
  for program in "$pack"/*_gpu_test; do
    [ -x "$program" ] || continue
    found=1
    LD_LIBRARY_PATH="$pack:${LD_LIBRARY_PATH:-}" "$program" "--gtest_output=xml:$program.xml" || failed=1
  done
  if [ $found = 0 ]; then
    echo "run_on_gpu.sh: $pack holds no programs; make it with 'tests/gpu/run_on_gpu.sh pack' where the packages are installed" >&2
    exit 1
  fi
  exit $failed
}

case $mode in
  here)
    if build; then
      ctest --test-dir "$tree" -L gpu --output-on-failure
    else
      echo "run_on_gpu.sh: cannot build here, trying $pack" >&2
      run_packed
    fi
    ;;
  pack)
    build
    rm -rf "$pack"
    mkdir -p "$pack"
    for program in "$tree"/bin/*_gpu_test; do
      cp "$program" "$pack/"
      # Libraries that a plain machine may lack; the C and C++ runtimes are everywhere.
      ldd "$program" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | grep -E 'lib(fmt|gtest|shiftconv)' | while read -r library; do
        cp -L "$library" "$pack/"
      done
    done
    # Opened at run time, so that ldd does not know it.
    cp "$tree/lib/libshiftconv_emulated.so" "$pack/"
    ls -l "$pack"
    ;;
  run) run_packed ;;
  *)
    sed -n '2,10s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
