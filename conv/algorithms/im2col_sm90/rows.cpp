#include "conv/algorithms/im2col_sm90/rows.hpp"

#include <fmt/format.h>

#include <numeric>

namespace shiftconv::plan::sm90 {

bool isPixelByPixel(const Problem& p) {
  return p.t * p.r * p.s == 1 && p.strideD * p.strideH * p.strideW == 1 &&
         p.padFront + p.padBack + p.padTop + p.padBottom + p.padLeft + p.padRight == 0;
}

int64_t mapChannels(const Problem& p) { return kMapBytes / bytesOf(p.inputType); }

int32_t rowPieceBytes(const Problem& p) {
  return static_cast<int32_t>(std::gcd(kMapBytes, std::gcd(p.c, p.inputPitch()) * bytesOf(p.inputType)));
}

bool canCopyPieces(const Problem& p) { return isPixelByPixel(p) && p.groups == 1 && !p.isSplit() && !p.transposed; }

std::string rowRefusal(const Problem& p) {
  if (canCopyPieces(p)) return {};
  const int64_t whole = mapChannels(p);
  constexpr const char* kWhy = "rows of whole 16 bytes, except for a 1x1 filter on one tensor without stride, padding or groups";
  if (p.c % whole != 0) return fmt::format("needs C to be a multiple of {} ({}), but C is {}", whole, kWhy, p.c);
  if (p.inputPitch() % whole != 0)
    return fmt::format("needs input_pixel_pitch to be a multiple of {} elements ({}), but it is {}", whole, kWhy, p.inputPitch());
  return {};
}

}  // namespace shiftconv::plan::sm90
