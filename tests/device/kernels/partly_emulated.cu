// Two kernels, one with an instruction that the emulator refuses when it decodes it.
#include <cstdint>

extern "C" __global__ void doubled(uint32_t* values) { values[threadIdx.x] *= 2; }

extern "C" __global__ void video_difference(uint32_t* values) {
  uint32_t& value = values[threadIdx.x];
  asm volatile("vabsdiff.u32.u32.u32 %0, %1, %2, %3;" : "=r"(value) : "r"(value), "r"(threadIdx.x), "r"(0));
}
