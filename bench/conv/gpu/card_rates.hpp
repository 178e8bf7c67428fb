// What the card itself gives, in the run that it is compared with: a large matrix product and a large copy.
#pragma once

#include <string>

#include "bench/conv/gpu/cuda.hpp"

namespace shiftconv::gpu {

struct CardRates {
  double gemmRested = 0, gemmSustained = 0;  ///< flop/s of an f16 product of 8192 x 8192 x 8192 with f32 sums; 0: no cuBLAS
  double copyRested = 0, copySustained = 0;  ///< bytes read and written a second by a copy of 1 GiB
};

/// `cublasLibrary`: path of libcublas.so, or empty.
CardRates measureCard(const std::string& cublasLibrary, int rounds, CUstream stream);

}  // namespace shiftconv::gpu
