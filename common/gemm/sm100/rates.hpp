// What a multiprocessor of a B200 does in a clock, as far as the choice of a tile needs it. How each is known: conv/plan/rates.cpp,
// whose table has these values.
#pragma once

namespace shiftconv::gemm::sm100 {

inline constexpr double kMmaColumnsPerClock =
    2;  ///< 32 bytes of K, every kind; 64 rows take as long as 128, but for a pair half as long
inline constexpr double kL2BytesPerClock = 70;
inline constexpr double kBulkWriteBytesPerClock = 120;
inline constexpr double kCopyBytesPerClock = 64;
inline constexpr double kSharedReadBytesPerClock = 128;

}  // namespace shiftconv::gemm::sm100
