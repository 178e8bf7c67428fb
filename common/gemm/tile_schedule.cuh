// Who does which tile.
#pragma once

#include <cstdint>

namespace shiftconv::gemm {

/// The tiles of one CTA: every `step`-th, in a range-for loop that every role runs.
struct StaticTiles {
  int32_t first, step, count;

  /// The CTAs of the grid's x dimension take turns.
  static __device__ StaticTiles ofGrid(int32_t count) {
    return {static_cast<int32_t>(blockIdx.x), static_cast<int32_t>(gridDim.x), count};
  }
  /// Its clusters do, the CTAs of one having the same tiles.
  template <class Group>
  static __device__ StaticTiles ofClusters(int32_t count) {
    return {static_cast<int32_t>(blockIdx.x) / Group::kCtas, static_cast<int32_t>(gridDim.x) / Group::kCtas, count};
  }

  struct Iterator {
    int32_t tile, step;
    __device__ int32_t operator*() const { return tile; }
    __device__ void operator++() { tile += step; }
    __device__ bool operator!=(int32_t count) const { return tile < count; }
  };
  __device__ Iterator begin() const { return {first, step}; }
  __device__ int32_t end() const { return count; }

  /// How many they are.
  __device__ int32_t own() const { return first < count ? (count - first - 1) / step + 1 : 0; }
};

}  // namespace shiftconv::gemm
