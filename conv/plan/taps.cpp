#include "conv/plan/taps.hpp"

#include <algorithm>
#include <utility>

#include "common/layout/ceil_divide.hpp"

namespace shiftconv::plan {
namespace {

/// Pairs with i * stride + t * dilation < limit.
int64_t pairsBelow(int64_t limit, int64_t positions, int64_t taps, int64_t stride, int64_t dilation) {
  if (limit <= 0 || positions <= 0 || taps <= 0) return 0;
  // Taps that some position finds below the limit, and of these the first ones, which all positions do.
  const int64_t some = std::min(taps, ceilDivide(limit, dilation));
  const int64_t forAll = limit - (positions - 1) * stride;
  const int64_t all = std::min(some, forAll <= 0 ? 0 : ceilDivide(forAll, dilation));
  // The others from the last one on: ceil((limit - t * dilation) / stride) positions.
  const int64_t ofLast = limit - (some - 1) * dilation;
  return all * positions + floorSum(some - all, stride, dilation, ofLast + stride - 1);
}

}  // namespace

int64_t floorSum(int64_t count, int64_t divisor, int64_t step, int64_t first) {
  int64_t sum = 0;
  // Whole multiples of the divisor leave a line below the diagonal; counted along the other axis it is a sum of the same kind whose
  // divisor and step have changed places, as in Euclid's algorithm.
  while (count > 0) {
    sum += (count - 1) * count / 2 * (step / divisor) + count * (first / divisor);
    step %= divisor, first %= divisor;
    const int64_t highest = step * count + first;
    count = highest / divisor;
    first = highest % divisor;
    std::swap(divisor, step);
  }
  return sum;
}

int64_t tapsInside(int64_t extent, int64_t positions, int64_t taps, int64_t stride, int64_t dilation, int64_t padBefore) {
  return pairsBelow(extent + padBefore, positions, taps, stride, dilation) -
         pairsBelow(padBefore, positions, taps, stride, dilation);
}

gemm::Window windowOf(const Problem& p) {
  gemm::Window window;
  window.images = p.n;
  window.channels = p.groupChannels();
  window.groups = p.groups;
  window.axes = {{{p.w, p.q(), p.s, p.padLeft, p.strideW, p.dilationW},
                  {p.h, p.p(), p.r, p.padTop, p.strideH, p.dilationH},
                  {p.d, p.z(), p.t, p.padFront, p.strideD, p.dilationD}}};
  window.firstChannels = p.splitC;
  window.firstPlanes = p.splitD;
  if (p.isSplit()) window.secondPitch = p.secondPitch() * bitsOf(p.inputType) / 8;
  return window;
}

}  // namespace shiftconv::plan
