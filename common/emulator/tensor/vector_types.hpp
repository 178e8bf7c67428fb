// Eight-lane host vectors, and functions compiled for several host instruction sets with a choice at run time.
#pragma once

#include <cstdint>
#include <cstring>

namespace shiftconv::emulator::tensor {

inline constexpr uint32_t kVectorLanes = 8;

typedef int32_t Int8 __attribute__((vector_size(32)));
typedef uint32_t Word8 __attribute__((vector_size(32)));
typedef float Float8 __attribute__((vector_size(32)));
typedef int64_t Long4 __attribute__((vector_size(32)));
typedef double Double4 __attribute__((vector_size(32)));
typedef int32_t Int4 __attribute__((vector_size(16)));
typedef float Float4 __attribute__((vector_size(16)));

// Functions that the dispatchers below inline into code for a particular instruction set.
#define SHIFTCONV_INLINE [[gnu::always_inline]] inline

/// Tests clear it to run the code for hosts without AVX2.
inline bool allowAvx2 = true;

#if defined(__x86_64__)
#define SHIFTCONV_TARGET_AVX2 [[gnu::target("avx2,fma")]]
inline bool hostHasAvx2() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has && allowAvx2;
}
#else
#define SHIFTCONV_TARGET_AVX2
inline bool hostHasAvx2() { return false; }
#endif

}  // namespace shiftconv::emulator::tensor
