#include "conv/algorithms/merged/algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

#include "common/layout/ceil_divide.hpp"
#include "conv/algorithms/merged/params.hpp"
#include "conv/plan/algorithm_rates.hpp"
#include "conv/plan/copying_algorithm.hpp"
#include "conv/plan/inner_plan.hpp"
#include "merging_image.hpp"

namespace shiftconv::plan {
namespace {

using kernels::merging::kThreads;
using kernels::merging::Params;

constexpr std::string_view kName = "merged";
constexpr int64_t kMostBytes = 128;  // of the channels of merged groups: a row of the widest swizzle of TMA

int64_t rowBytesOf(const Problem& p) { return p.groupChannels() * bitsOf(p.filterType) / 8; }

/// Groups that become one: as many as kMostBytes have room for, and divide the number of groups. 1: there are no two.
int64_t mergedGroups(const Problem& p) {
  const int64_t groupBits = p.groupChannels() * bitsOf(p.inputType);
  for (int64_t merged = std::min(p.groups, kMostBytes * 8 / groupBits); merged > 1; --merged)
    if (p.groups % merged == 0) return merged;
  return 1;
}

/// The same sums, between which there are products with zeros.
Problem ofMergedGroups(const Problem& p) {
  Problem inner = p;
  inner.groups = p.groups / mergedGroups(p);
  return inner;
}

int64_t filterBytes(const Problem& p) { return p.k * p.taps() * mergedGroups(p) * rowBytesOf(p); }

PlannedLaunch launchOf(const Problem& p, TensorPlace destination) {
  const auto divisor = [](int64_t d) { return layout::FastDivisor(static_cast<uint32_t>(d)); };
  Params params;
  params.vectorBytes = static_cast<int32_t>(std::gcd(rowBytesOf(p), int64_t{16}));
  params.count = static_cast<uint32_t>(filterBytes(p) / params.vectorBytes);
  params.rowVectors = divisor(rowBytesOf(p) / params.vectorBytes);
  params.groups = divisor(mergedGroups(p));
  params.taps = divisor(p.taps());
  params.filters = divisor(p.k / p.groups);
  PlannedLaunch launch =
      launchOfCopy(images::merging(), "merge_groups", params, ceilDivide(int64_t{params.count}, int64_t{kThreads}), kThreads,
                   {TensorName::Filter}, destination);
  launch.config.programmaticDependent = true;
  launch.packsFilter = true;
  return launch;
}

class Merged final : public CopyingAlgorithm {
 public:
  using CopyingAlgorithm::CopyingAlgorithm;
  std::string_view name() const override { return kName; }
  /// The algorithms with kernels that multiply.
  std::span<const OptionDescription> options() const override {
    static const std::string names = algorithmNames(search().algorithms(), multiplies);
    static const auto known = copyingOptions(names, "which computes the convolution of merged groups; otherwise the best");
    return known;
  }

 protected:
  std::string copyingRefusal(const Problem& p, const device::Properties& properties) const override {
    if (p.groups == 1) return "merged needs several groups, but groups = 1";
    if (p.groupChannels() == 1) return "merged needs two channels a group at least, but C = groups";
    if (p.taps() == 1) return "merged is for filters of several taps, but t, r and s are 1";
    if (p.inputScale.blockSize != 0 || p.filterScale.blockSize != 0 || p.outputScale.blockSize != 0)
      return "merged takes no block-scaled tensors";
    for (const DataType type : {p.inputType, p.filterType})
      if (bitsOf(type) % 8 != 0)
        return fmt::format("merged takes inputs and filters of whole bytes, but {} has {} bits", nameOf(type), bitsOf(type));
    if (p.filterZeroPoint != 0)
      return fmt::format("merged needs filter_zero_point = 0, but it is {}: zeros between groups are zeros of the filter only then",
                         p.filterZeroPoint);
    if (mergedGroups(p) == 1)
      return fmt::format(
          "merged needs two groups or more, a number that divides groups = {}, with at most {} bytes of channels together, but {} "
          "channels of {} have {}",
          p.groups, kMostBytes, p.groupChannels(), nameOf(p.inputType), rowBytesOf(p));
    if (p.k * p.taps() > std::numeric_limits<int32_t>::max() / (mergedGroups(p) * rowBytesOf(p)))
      return "merged needs fewer than 2^31 bytes in the filter of merged groups";
    const Problem inner = ofMergedGroups(p);
    const std::span all = search().algorithms();
    if (std::none_of(all.begin(), all.end(), [&](const Algorithm* one) {
          return multiplies(*one) && !one->isLastResort() && one->isBuiltFor(properties) &&
                 refusalOf(*one, inner, properties).empty();
        }))
      return "merged needs matrix instructions for its products with zeros, but only direct takes the convolution of merged groups";
    return {};
  }
  std::string_view ofCopies() const override { return "merged groups"; }
  Problem problemOfCopies(const Problem& p) const override { return ofMergedGroups(p); }
  Copying copying(const Problem& p) const override {
    Copying copies;
    if (p.strideH > 1 && p.r > p.strideH) copies.memoryShare = rates::joined::kStridedMemoryShare;  // of the same kernels
    copies.launchClocks = rates::merged::kLaunchClocks;
    copies.launches = 1;
    copies.bytes = static_cast<double>(filterBytes(p));
    return copies;
  }
  Status complete(const Candidate& best, const Problem& p, const device::Properties& properties, Plan& plan) const override {
    PerTensor<TensorPlace> places = placesAsGiven();
    const auto bytes = static_cast<size_t>(filterBytes(p));
    places[TensorName::Filter] = placeInPackedFilter(bytes, plan);
    plan.details += fmt::format("merges     {} groups, {} bytes of packed filter\n", mergedGroups(p), bytes);
    plan.launches.push_back(launchOf(p, places[TensorName::Filter]));
    return addInner(best, ofMergedGroups(p), properties, places, plan);
  }
};

}  // namespace

const Algorithm& mergedAlgorithm(const InnerSearch& search) {
  static const Merged algorithm(search);
  return algorithm;
}

}  // namespace shiftconv::plan
