// channelwise of rows that the copy engine brings to shared memory. See channelwise.cu and stream.cuh.
#include <cuda.h>

#include <cstdint>

#include "conv/algorithms/channelwise/kinds.hpp"
#include "conv/algorithms/channelwise/stream.cuh"

namespace shiftconv::kernels::channelwise {

#define SHIFTCONV_CHANNELWISE_KERNEL(NAME, OPERANDS, FILTER, CHANNELS, COLUMNS, CTAS)                               \
  extern "C" __global__ void __launch_bounds__(kMostThreads, CTAS)                                                  \
      NAME(const __grid_constant__ CUtensorMap input, const __grid_constant__ Params params) {                      \
    extern __shared__ uint8_t dynamicShared[];                                                                      \
    Stream<OPERANDS, FILTER, CHANNELS, COLUMNS>(input, params, &gemm::alignedShared<uint8_t>(dynamicShared)).run(); \
  }
SHIFTCONV_CHANNELWISE_STREAM_KINDS(SHIFTCONV_CHANNELWISE_KERNEL)

}  // namespace shiftconv::kernels::channelwise
