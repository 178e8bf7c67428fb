#include "conv/algorithms/joined/geometry.hpp"

#include <algorithm>
#include <numeric>

namespace shiftconv::plan {
namespace {

constexpr int64_t kRowBytes = 16;  // what TMA asks strides to be multiples of (CUDA Driver API, cuTensorMapEncodeTiled)

int64_t floorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

/// Where output j of a group meets tap s: in columns from the first pixel of the input's group.
int64_t columnOf(const Problem& p, int64_t j, int64_t s) { return j * p.strideW + s * p.dilationW - p.padLeft; }

std::optional<Joining> joiningOf(const Problem& p, int64_t pixels) {
  if (pixels % p.strideW != 0 || p.w % pixels != 0 || pixels * p.c * bitsOf(p.inputType) % (8 * kRowBytes) != 0) return {};
  const int64_t outputs = pixels / p.strideW;
  if (p.q() % outputs != 0) return {};
  const int64_t first = floorDivide(columnOf(p, 0, 0), pixels), last = floorDivide(columnOf(p, outputs - 1, p.s - 1), pixels);
  int64_t step = p.s > pixels ? p.dilationW : 0;  // in joined pixels: so far apart are taps s and s + pixels
  for (int64_t j = 0; j < outputs; ++j)
    for (int64_t s = 0; s < std::min(p.s, pixels); ++s) step = std::gcd(step, floorDivide(columnOf(p, j, s), pixels) - first);
  step = std::max<int64_t>(step, 1);
  const int64_t taps = (last - first) / step + 1;
  const int64_t padRight = p.q() / outputs + last - p.w / pixels;
  if (padRight < 0) return {};
  return Joining{pixels, outputs, first * pixels, taps, step * pixels, -first, padRight};
}

}  // namespace

std::optional<Joining> joiningOf(const Problem& p) {
  const int64_t pixelBits = p.c * bitsOf(p.inputType);
  for (int64_t pixels = std::min(p.w, kJoinedBytes * 8 / pixelBits); pixels > 1; --pixels)
    if (const std::optional<Joining> joining = joiningOf(p, pixels)) return joining;
  return {};
}

Problem joinedProblem(const Problem& p, const Joining& joining) {
  Problem inner = p;
  inner.w = p.w / joining.pixels;
  inner.c = p.c * joining.pixels;
  inner.k = p.k * joining.outputs;
  inner.s = joining.taps;
  inner.strideW = 1;
  inner.dilationW = joining.dilation();
  inner.padLeft = joining.padLeft, inner.padRight = joining.padRight;
  inner.inputPixelPitch = inner.outputPixelPitch = inner.residualPixelPitch = 0;
  return inner;
}

}  // namespace shiftconv::plan
