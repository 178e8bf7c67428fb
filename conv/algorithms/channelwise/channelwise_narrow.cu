// channelwise of 8-bit floats and integers, and of f32 and tf32: the general form alone. See channelwise.cu.
//
// Sums of integers are f32, too: those of products of bytes stay below 2^24 for as many taps as the planner lets through, so that
// they are exact.
#include <cstdint>

#include "conv/algorithms/channelwise/general.cuh"
#include "conv/algorithms/channelwise/kinds.hpp"

namespace shiftconv::kernels::channelwise {

#define SHIFTCONV_CHANNELWISE_KERNEL(NAME, OPERANDS, CHANNELS, COLUMNS, CTAS)                                    \
  extern "C" __global__ void __launch_bounds__(kMostThreads, CTAS) NAME(const __grid_constant__ Params params) { \
    extern __shared__ uint4 weights[];                                                                           \
    Taps<OPERANDS, CHANNELS, COLUMNS, Finish::Full>(params).run(reinterpret_cast<uint8_t*>(weights));            \
  }
SHIFTCONV_CHANNELWISE_NARROW_KINDS(SHIFTCONV_CHANNELWISE_KERNEL)

}  // namespace shiftconv::kernels::channelwise
