// Functions that both the host compiler and nvcc compile.
#pragma once

#if defined(__CUDACC__)
#define SHIFTCONV_HOST_DEVICE __host__ __device__
#else
#define SHIFTCONV_HOST_DEVICE
#endif
