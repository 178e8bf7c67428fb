#include "conv/algorithms/reversed/algorithm.hpp"

#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "common/layout/ceil_divide.hpp"
#include "common/layout/scale_factor_layout.hpp"
#include "conv/algorithms/reversed/params.hpp"
#include "conv/plan/copying_algorithm.hpp"
#include "conv/plan/inner_plan.hpp"
#include "conv/problem/tensors.hpp"
#include "reversal_image.hpp"

namespace shiftconv::plan {
namespace {

using kernels::reversal::kThreads;
using kernels::reversal::Params;

constexpr std::string_view kName = "reversed";

Problem inOrder(const Problem& p) {
  Problem inner = p;
  inner.filterFlipped = false;
  return inner;
}

/// A row for each tap.
struct Rows {
  const char* name;
  TensorName tensor;
  int64_t padded;  ///< rows, with those after the last tap
  int64_t vectors;
  int32_t vectorBytes;
  bool isInterleaved;

  int64_t count() const { return padded * vectors; }
};

int32_t vectorBytesOf(int64_t rowBytes) { return static_cast<int32_t>(std::gcd(rowBytes, int64_t{16})); }

std::vector<Rows> reversedRows(const Problem& p) {
  const int64_t rows = p.k * p.taps(), bytes = p.groupChannels() * bitsOf(p.filterType) / 8;
  std::vector<Rows> reversed{{"the filter", TensorName::Filter, rows, bytes / vectorBytesOf(bytes), vectorBytesOf(bytes), false}};
  if (p.filterScale.blockSize == 0) return reversed;
  const int64_t blocks = ceilDivide(p.groupChannels(), p.filterScale.blockSize);
  const char* const name = "its scale factors";
  if (p.filterScale.order == ScaleOrder::Plain)
    reversed.push_back({name, TensorName::FilterScale, rows, blocks / vectorBytesOf(blocks), vectorBytesOf(blocks), false});
  else
    reversed.push_back({name, TensorName::FilterScale, ceilDivide(rows, layout::kScaleTileRows) * layout::kScaleTileRows,
                        ceilDivide(blocks, layout::kScaleTileBlocks), static_cast<int32_t>(layout::kScaleTileBlocks), true});
  return reversed;
}

PlannedLaunch launchOf(const Problem& p, const Rows& rows, TensorPlace destination) {
  Params params;
  params.rows = static_cast<uint32_t>(p.k * p.taps());
  params.count = static_cast<uint32_t>(rows.count());
  params.vectorBytes = rows.vectorBytes;
  params.isInterleaved = rows.isInterleaved;
  params.rowVectors = layout::FastDivisor(static_cast<uint32_t>(rows.vectors));
  params.taps = layout::FastDivisor(static_cast<uint32_t>(p.taps()));
  PlannedLaunch launch = launchOfCopy(images::reversal(), "reverse_taps", params, ceilDivide(rows.count(), int64_t{kThreads}),
                                      kThreads, {rows.tensor}, destination);
  launch.packsFilter = true;
  return launch;
}

class Reversed final : public CopyingAlgorithm {
 public:
  using CopyingAlgorithm::CopyingAlgorithm;
  std::string_view name() const override { return kName; }
  bool takesTransposed() const override { return true; }
  bool takesUpsampled() const override { return true; }
  bool takesSplit() const override { return true; }
  bool takesReversedTaps() const override { return true; }
  /// The algorithms with kernels that multiply, and the one that repeats pixels for them.
  std::span<const OptionDescription> options() const override {
    static const std::string names =
        algorithmNames(search().algorithms(), [](const Algorithm& one) { return multiplies(one) || one.name() == "repeated"; });
    static const auto known = copyingOptions(names, "which computes the convolution of the taps in order; otherwise the best");
    return known;
  }

 protected:
  std::string copyingRefusal(const Problem& p, const device::Properties& properties) const override {
    if (!p.filterFlipped) return "reversed is for flipped filters of several taps, but filter_flipped is 0";
    if (!p.hasReversedTaps()) return "reversed is for flipped filters of several taps, but t, r and s are 1";
    const Algorithm* phases = nullptr;
    if (p.transposed && search().find("phases", phases).ok() && phases->refusal(p, properties).empty())
      return "reversed leaves transposed convolutions to phases, which gathers the taps of flipped filters, too";
    for (const Rows& rows : reversedRows(p))
      if (rows.padded > std::numeric_limits<int32_t>::max() / rows.vectors)
        return fmt::format("reversed needs fewer than 2^31 vectors of {} bytes in {}", rows.vectorBytes, rows.name);
    return {};
  }
  std::string_view ofCopies() const override { return "the taps in order"; }
  Problem problemOfCopies(const Problem& p) const override { return inOrder(p); }
  Copying copying(const Problem& p) const override {
    const auto bytes = tensorBytes(p);
    Copying copies;
    for (const Rows& rows : reversedRows(p)) copies.bytes += 2 * static_cast<double>(bytes[rows.tensor]), ++copies.launches;
    return copies;
  }
  Status complete(const Candidate& best, const Problem& p, const device::Properties& properties, Plan& plan) const override {
    PerTensor<TensorPlace> places = placesAsGiven();
    const auto bytes = tensorBytes(p);
    for (const Rows& rows : reversedRows(p)) {
      places[rows.tensor] = placeInPackedFilter(bytes[rows.tensor], plan);
      plan.launches.push_back(launchOf(p, rows, places[rows.tensor]));
      plan.details += fmt::format("reverses   {}: {} bytes of packed filter\n", rows.name, bytes[rows.tensor]);
    }
    return addInner(best, inOrder(p), properties, places, plan);
  }
};

}  // namespace

const Algorithm& reversedAlgorithm(const InnerSearch& search) {
  static const Reversed algorithm(search);
  return algorithm;
}

}  // namespace shiftconv::plan
