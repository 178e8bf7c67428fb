#include "conv/plan/measured_correction.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <tuple>

#include "common/layout/ceil_divide.hpp"
#include "conv/plan/sm90_limits.hpp"

namespace shiftconv::plan {
namespace {

constexpr double kMultiprocessors = 132;  // of the card that was measured
constexpr double kMostWaves = 10;         // more of them are as good

double log2Of(int64_t value) { return std::log2(static_cast<double>(value)); }

bool isHalf(DataType type) { return type == DataType::F16 || type == DataType::BF16; }

/// Outputs of the type of 16-bit operands, and a residual of it; or, after operands of 8 bits, outputs of at most 16: trees for
/// short epilogues of these have seen no residual.
bool hasUsualTypes(const Problem& p) {
  if (!isHalf(p.inputType)) return bitsOf(p.outputType) <= 16 && !p.hasResidual();
  return p.outputType == p.inputType && (!p.hasResidual() || p.residualType == p.outputType);
}

}  // namespace

CorrectionView::CorrectionView(const Problem& p)
    : pixels_(p.outputPixels()),
      outOfGroup_(p.k / p.groups),
      groups_(p.groups),
      pixelBytes_(p.inputPitch() * bytesOf(p.inputType)) {
  // A phase of a transposed convolution is an ordinary one, with stride 1 and its share of the taps.
  const int64_t strideD = p.transposed ? p.strideD : 1, strideH = p.transposed ? p.strideH : 1,
                strideW = p.transposed ? p.strideW : 1;
  const int64_t inGroup = p.groupChannels(), taps = std::max<int64_t>(1, p.t * p.r * p.s / (strideD * strideH * strideW));
  // The scale and the zero point of outputs of 8 bits belong to their shortest epilogue.
  Problem quantised = p;
  if (bitsOf(p.inputType) == 8 && bitsOf(p.outputType) == 8) quantised.outScale = 1, quantised.outputZeroPoint = 0;
  const double values[] = {log2Of(pixels_),
                           log2Of(p.c),
                           log2Of(outOfGroup_),
                           log2Of(taps * inGroup),
                           static_cast<double>(taps),
                           static_cast<double>(ceilDivide(p.s, strideW)),
                           static_cast<double>(p.strideH / strideH),
                           static_cast<double>(p.strideW / strideW),
                           static_cast<double>(p.dilationW),
                           p.d > 1 || p.t > 1 ? 1.0 : 0.0,
                           static_cast<double>(inGroup % 64),
                           static_cast<double>(inGroup % 8),
                           static_cast<double>(p.k % 8),
                           log2Of(inGroup),
                           p.hasResidual() ? 1.0 : 0.0,
                           p.isSplit() || !hasUsualTypes(p)    ? 2.0
                           : sm90::hasPlainEpilogue(quantised) ? 0.0
                           : sm90::hasShortEpilogue(quantised) ? 1.0
                                                               : 2.0,
                           isHalf(p.inputType)      ? 0.0
                           : isInteger(p.inputType) ? 2.0
                                                    : 1.0,
                           std::log2(bytesOnce(p))};
  static_assert(kTilingFeatures + std::size(values) == std::tuple_size_v<CorrectionFeatures>);
  for (size_t i = 0; i < std::size(values); ++i) ofProblem_[kTilingFeatures + i] = static_cast<float>(values[i]);
}

CorrectionFeatures CorrectionView::of(const Tiling& tiling, double microseconds) const {
  const int64_t tilePixels = std::max(tiling.pixels, 1), tileChannels = std::max(tiling.channels, 1);
  const int64_t pixelTiles = (pixels_ + tilePixels - 1) / tilePixels,
                channelTiles = (outOfGroup_ + tileChannels - 1) / tileChannels;
  const double tiles = static_cast<double>(pixelTiles * channelTiles * groups_ * std::max(tiling.split, 1));
  const double waves = tiles / kMultiprocessors;
  const double values[] = {std::log2(microseconds),
                           static_cast<double>(tiling.pixels),
                           static_cast<double>(tiling.channels),
                           static_cast<double>(tiling.split),
                           static_cast<double>(tiling.choices[0]),
                           static_cast<double>(tiling.choices[1]),
                           static_cast<double>(tiling.choices[2]),
                           static_cast<double>(tiling.modelParts[0]),
                           static_cast<double>(tiling.modelParts[1]),
                           static_cast<double>(tiling.modelParts[2]),
                           static_cast<double>(tiling.modelParts[3]),
                           std::log2(tiles),
                           std::min(waves, kMostWaves),
                           std::ceil(waves) / waves,
                           static_cast<double>(outOfGroup_) / static_cast<double>(channelTiles * tileChannels),
                           static_cast<double>(pixels_) / static_cast<double>(pixelTiles * tilePixels),
                           static_cast<double>(std::countr_zero(static_cast<uint64_t>(tilePixels * pixelBytes_)))};
  static_assert(std::size(values) == kTilingFeatures);
  CorrectionFeatures features = ofProblem_;
  for (size_t i = 0; i < std::size(values); ++i) features[i] = static_cast<float>(values[i]);
  return features;
}

bool CorrectionView::hasWholeEpilogue() const {
  constexpr size_t kEpilogue = 32;
  static_assert(kCorrectionFeatures[kEpilogue] == "epilogue");
  return ofProblem_[kEpilogue] == 2;
}

bool hasMeasuredCorrection(const Problem& problem, const device::Properties& properties) {
  const bool areHalves = isHalf(problem.inputType) && isHalf(problem.filterType) && problem.outputScale.blockSize == 0;
  const bool areBytes = bitsOf(problem.inputType) == 8 && bitsOf(problem.filterType) == 8 && problem.inputScale.blockSize == 0;
  return properties.computeMajor == 9 && properties.computeMinor == 0 && (areHalves || areBytes);
}

}  // namespace shiftconv::plan
