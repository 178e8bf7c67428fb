// im2col_sm90 of f16 and bf16 for transposed convolutions: tiles of their phases, whose CTAs may share operands.
#include "conv/algorithms/im2col_sm90/phase.cuh"
#include "conv/algorithms/im2col_sm90/sm90_im2col.cuh"
#include "conv/algorithms/im2col_sm90/tiles.hpp"

#define SHIFTCONV_IM2COL_PHASES_KERNEL(NAME, KIND, PIXELS, CHANNELS, CTAS)                                          \
  SHIFTCONV_KERNEL(                                                                                                 \
      NAME, extern "C" __global__ void __launch_bounds__(shiftconv::kernels::im2col::threads(PIXELS / 64), CTAS)    \
                NAME(const __grid_constant__ CUtensorMap inputMap, const __grid_constant__ CUtensorMap filterMap,   \
                     const __grid_constant__ shiftconv::kernels::im2col::Params params,                             \
                     const __grid_constant__ shiftconv::kernels::im2col::Phases phases) {                           \
                  using namespace shiftconv::kernels::im2col;                                                       \
                  Cta<shiftconv::kernels::KIND, PIXELS / 64, CHANNELS, InCluster::Operands, false, OutputsOfPhase>( \
                      inputMap, filterMap, params, OutputsOfPhase(params, phases))                                  \
                      .run();                                                                                       \
                })
#define SHIFTCONV_IM2COL_PHASES_KERNELS(PIXELS, CHANNELS, CTAS)                                               \
  SHIFTCONV_IM2COL_PHASES_KERNEL(im2col_sm90_f16_##PIXELS##x##CHANNELS##_phases, F16, PIXELS, CHANNELS, CTAS) \
  SHIFTCONV_IM2COL_PHASES_KERNEL(im2col_sm90_bf16_##PIXELS##x##CHANNELS##_phases, BF16, PIXELS, CHANNELS, CTAS)

SHIFTCONV_IM2COL_PHASES_TILES(SHIFTCONV_IM2COL_PHASES_KERNELS)
