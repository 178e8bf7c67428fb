#include "conv/plan/folded_depth.hpp"

namespace shiftconv::plan {
namespace {

void dropDepth(Problem& p) {
  p.d = p.t = p.strideD = p.dilationD = 1;
  p.padFront = p.padBack = 0;
}

}  // namespace

Problem foldedDepth(const Problem& problem) {
  Problem p = problem;
  // Channels first, slices of an image do not follow each other; and what is transposed or upsampled has become something else
  // before it is planned.
  if (isTwoDimensional(p) || p.splitD != 0 || p.transposed || p.isUpsampled() || p.hasChannelsFirst()) return p;
  if (p.t == 1 && p.strideD == 1 && p.padFront == 0 && p.padBack == 0) {
    p.n *= p.d;
    dropDepth(p);
    return p;
  }
  const bool isOnePixel =
      p.r == 1 && p.s == 1 && p.strideH == 1 && p.strideW == 1 && p.padTop + p.padBottom + p.padLeft + p.padRight == 0;
  if (!isOnePixel || p.hasSpreadOutput()) return p;
  p.w *= p.h;
  p.h = p.d;
  p.r = p.t;
  p.strideH = p.strideD;
  p.dilationH = p.dilationD;
  p.padTop = p.padFront;
  p.padBottom = p.padBack;
  p.dilationW = 1;
  dropDepth(p);
  return p;
}

}  // namespace shiftconv::plan
