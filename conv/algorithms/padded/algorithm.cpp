#include "conv/algorithms/padded/algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

#include "common/layout/ceil_divide.hpp"
#include "conv/algorithms/padded/params.hpp"
#include "conv/plan/copying_algorithm.hpp"
#include "conv/plan/inner_plan.hpp"
#include "conv/problem/tensors.hpp"
#include "padding_image.hpp"

namespace shiftconv::plan {
namespace {

using kernels::padding::kThreads;
using kernels::padding::kVectorBytes;
using kernels::padding::Params;

constexpr std::string_view kName = "padded";
constexpr int64_t kLeastChannels = 16;

int64_t bytesOfChannels(DataType type, int64_t channels) { return channels * bitsOf(type) / 8; }

Problem withWholeVectors(const Problem& p) {
  Problem inner = p;
  const int64_t narrowest = std::min(bitsOf(p.inputType), bitsOf(p.filterType));
  const int64_t vector = kVectorBytes * 8 / narrowest;
  inner.c = ceilDivide(p.c, vector) * vector;
  inner.inputPixelPitch = 0;
  return inner;
}

/// A row for each pixel, or for each tap of each filter.
struct Rows {
  const char* name;
  TensorName tensor;
  int64_t rows;
  int64_t bytes, pitch, padded;  ///< of a row; pitch is from row to row

  int64_t vectors() const { return rows * (padded / kVectorBytes); }
};

std::vector<Rows> rowsOf(const Problem& p) {
  const Problem inner = withWholeVectors(p);
  std::vector<Rows> rows{{"the input", TensorName::Input, p.inputPixels(), bytesOfChannels(p.inputType, p.c),
                          bytesOfChannels(p.inputType, p.inputPitch()), bytesOfChannels(p.inputType, inner.c)}};
  const int64_t filterBytes = bytesOfChannels(p.filterType, p.c);
  if (inner.c != p.c)
    rows.push_back(
        {"the filter", TensorName::Filter, p.k * p.taps(), filterBytes, filterBytes, bytesOfChannels(p.filterType, inner.c)});
  return rows;
}

PlannedLaunch launchOf(const Rows& rows, TensorPlace destination) {
  Params params;
  params.pitchBytes = rows.pitch;
  params.rowBytes = static_cast<uint32_t>(rows.bytes);
  params.count = static_cast<uint32_t>(rows.vectors());
  params.pieceBytes = static_cast<int32_t>(std::gcd(std::gcd(rows.bytes, rows.pitch), int64_t{kVectorBytes / 2}));
  params.rowVectors = layout::FastDivisor(static_cast<uint32_t>(rows.padded / kVectorBytes));
  PlannedLaunch launch = launchOfCopy(images::padding(), "pad_rows", params, ceilDivide(rows.vectors(), int64_t{kThreads}),
                                      kThreads, {rows.tensor}, destination);
  launch.packsFilter = rows.tensor == TensorName::Filter;
  return launch;
}

class Padded final : public CopyingAlgorithm {
 public:
  using CopyingAlgorithm::CopyingAlgorithm;
  std::string_view name() const override { return kName; }
  bool takesTransposed() const override { return true; }
  /// The algorithms with kernels that multiply.
  std::span<const OptionDescription> options() const override {
    static const std::string names = algorithmNames(search().algorithms(), multiplies);
    static const auto known = copyingOptions(names, "which computes the convolution of whole vectors; otherwise the best");
    return known;
  }

 protected:
  std::string copyingRefusal(const Problem& p, const device::Properties&) const override {
    if (p.groups != 1) return fmt::format("padded needs groups = 1, but it is {}", p.groups);
    if (p.inputScale.blockSize != 0 || p.filterScale.blockSize != 0) return "padded takes no block-scaled operands";
    for (const DataType type : {p.inputType, p.filterType})
      if (bitsOf(type) % 8 != 0)
        return fmt::format("padded takes operands of whole bytes, but {} has {} bits", nameOf(type), bitsOf(type));
    if (p.filterZeroPoint != 0)
      return fmt::format("padded needs filter_zero_point = 0, but it is {}: zeros that fill up are zeros of the filter only then",
                         p.filterZeroPoint);
    if (p.c < kLeastChannels) return fmt::format("padded needs c of at least {}, but it is {}", kLeastChannels, p.c);
    const int64_t pitch = bytesOfChannels(p.inputType, p.inputPitch()), filter = bytesOfChannels(p.filterType, p.c);
    if (pitch % kVectorBytes == 0 && filter % kVectorBytes == 0)
      return fmt::format(
          "padded is for pixels or taps that are not whole {} bytes, but a pixel's pitch is {} bytes and a tap has {}",
          kVectorBytes, pitch, filter);
    for (const Rows& rows : rowsOf(p))
      if (rows.vectors() > std::numeric_limits<int32_t>::max())
        return fmt::format("padded needs fewer than 2^31 vectors of {} bytes in {}, which has {}", kVectorBytes, rows.name,
                           rows.vectors());
    return {};
  }
  std::string_view ofCopies() const override { return "whole vectors"; }
  Problem problemOfCopies(const Problem& p) const override { return withWholeVectors(p); }
  Copying copying(const Problem& p) const override {
    Copying copies;
    for (const Rows& rows : rowsOf(p))
      copies.bytes += static_cast<double>(rows.rows * (rows.bytes + rows.padded)), ++copies.launches;
    return copies;
  }
  Status complete(const Candidate& best, const Problem& p, const device::Properties& properties, Plan& plan) const override {
    PerTensor<TensorPlace> places = placesAsGiven();
    for (const Rows& rows : rowsOf(p)) {
      const auto bytes = static_cast<size_t>(rows.vectors() * kVectorBytes);
      const bool isPacked = rows.tensor == TensorName::Filter;
      places[rows.tensor] = isPacked ? placeInPackedFilter(bytes, plan) : placeInWorkspace(bytes, plan);
      plan.launches.push_back(launchOf(rows, places[rows.tensor]));
      plan.details += fmt::format("pads       {}: {} bytes of {}\n", rows.name, bytes, isPacked ? "packed filter" : "workspace");
    }
    return addInner(best, withWholeVectors(p), properties, places, plan);
  }
};

}  // namespace

const Algorithm& paddedAlgorithm(const InnerSearch& search) {
  static const Padded algorithm(search);
  return algorithm;
}

}  // namespace shiftconv::plan
