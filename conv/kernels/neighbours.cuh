// Numbers of neighbouring channels, each for all pixels, to a thread's registers.
#pragma once

#include <cstdint>

namespace shiftconv::kernels {

/// Those of the channels below `columns`, of others `otherwise`, as of all where `from` is null. Several at a time where the
/// address allows it: channels of a group may begin anywhere.
template <int32_t kCount>
__device__ __forceinline__ void loadNeighbours(const float* from, int32_t channel, int32_t columns, float otherwise,
                                               float (&to)[kCount]) {
  constexpr int32_t kTogether = kCount < 4 ? kCount : 4;
  struct alignas(kTogether * sizeof(float)) Some {
    float value[kTogether];
  };
  if (from != nullptr && channel + kCount <= columns && reinterpret_cast<uint64_t>(from + channel) % sizeof(Some) == 0) {
#pragma unroll
    for (int32_t i = 0; i < kCount; i += kTogether) {
      const auto some = *reinterpret_cast<const Some*>(from + channel + i);
#pragma unroll
      for (int32_t j = 0; j < kTogether; ++j) to[i + j] = some.value[j];
    }
    return;
  }
#pragma unroll
  for (int32_t i = 0; i < kCount; ++i) to[i] = from != nullptr && channel + i < columns ? from[channel + i] : otherwise;
}

}  // namespace shiftconv::kernels
