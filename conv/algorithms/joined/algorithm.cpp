#include "conv/algorithms/joined/algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "common/layout/ceil_divide.hpp"
#include "conv/algorithms/joined/geometry.hpp"
#include "conv/algorithms/joined/params.hpp"
#include "conv/plan/algorithm_rates.hpp"
#include "conv/plan/copying_algorithm.hpp"
#include "conv/plan/inner_plan.hpp"
#include "conv/problem/tensors.hpp"
#include "joining_image.hpp"

namespace shiftconv::plan {
namespace {

using kernels::joining::kThreads;
using kernels::joining::Params;
using kernels::joining::Part;

constexpr std::string_view kName = "joined";
constexpr int64_t kStoredBytes = 16;                // at once: for whole ones, 16-bit 1x1 filters have kernels as fast
constexpr int64_t kMostColumns = int64_t{1} << 30;  // the kernel counts them in 32 bits

layout::FastDivisor divisor(int64_t d) { return layout::FastDivisor(static_cast<uint32_t>(d)); }

/// Of the filter of joined pixels: what it has of each row of a filter.
int64_t bytesOfRows(const Problem& p, const Joining& joining) {
  return joining.outputs * joining.taps * joining.pixels * p.c * bitsOf(p.filterType) / 8;
}

/// What is written.
struct Copy {
  const char* name;
  TensorName tensor;
  int64_t rowBytes;  ///< of the channels of a tap, or of a whole bias
  int64_t count;     ///< rows in the destination
  Part part;

  bool isPacked() const { return tensor == TensorName::Filter; }
  int64_t bytes() const { return count * rowBytes; }
};

Copy copyOf(const char* name, TensorName tensor, int64_t rowBytes, int64_t count) {
  Copy copy{name, tensor, rowBytes, count, {}};
  copy.part.vectorBytes = static_cast<int32_t>(std::gcd(rowBytes, int64_t{16}));
  copy.part.rowVectors = divisor(rowBytes / copy.part.vectorBytes);
  copy.part.count = static_cast<uint32_t>(copy.bytes() / copy.part.vectorBytes);
  return copy;
}

Copy filterOf(const Problem& p, const Joining& joining) {
  Copy copy = copyOf("the filter", TensorName::Filter, p.c * bitsOf(p.filterType) / 8,
                     joining.outputs * p.k * p.t * p.r * joining.taps * joining.pixels);
  Part& part = copy.part;
  part.pixels = divisor(joining.pixels), part.taps = divisor(joining.taps);
  part.slices = divisor(p.t * p.r), part.filters = divisor(p.k);
  part.sourceTaps = static_cast<uint32_t>(p.s);
  part.dilation = divisor(p.dilationW);
  part.firstColumn = static_cast<int32_t>(joining.firstColumn + p.padLeft);
  part.tapColumns = static_cast<int32_t>(joining.tapColumns);
  part.outputColumns = static_cast<int32_t>(p.strideW);
  return copy;
}

std::vector<Copy> copiesOf(const Problem& p, const Joining& joining) {
  std::vector<Copy> copies{filterOf(p, joining)};
  if (p.hasBias) copies.push_back(copyOf("the bias", TensorName::Bias, p.k * bitsOf(p.biasType) / 8, joining.outputs));
  if (p.hasChannelScale)
    copies.push_back(
        copyOf("the channel scales", TensorName::ChannelScale, p.k * static_cast<int64_t>(sizeof(float)), joining.outputs));
  return copies;
}

/// Of all that is written, or of those that are packed or are not.
template <class Wanted>
PlannedLaunch launchOf(const std::vector<Copy>& copies, const PerTensor<TensorPlace>& places, Wanted wanted) {
  Params params;
  std::vector<const Copy*> taken;
  uint32_t most = 0;
  for (const Copy& copy : copies) {
    if (!wanted(copy)) continue;
    params.parts[taken.size()] = copy.part;
    most = std::max(most, copy.part.count);
    taken.push_back(&copy);
  }
  Parameter parameter = Parameter::value(params);
  for (size_t i = 0; i < taken.size(); ++i) {
    parameter.address(i * sizeof(Part) + offsetof(Part, source), {taken[i]->tensor});
    parameter.address(i * sizeof(Part) + offsetof(Part, destination), places[taken[i]->tensor]);
  }
  PlannedLaunch launch;
  launch.image = images::joining();
  launch.kernel = "join_taps";
  launch.config.grid = {static_cast<uint32_t>(ceilDivide(int64_t{most}, int64_t{kThreads})), static_cast<uint32_t>(taken.size()),
                        1};
  launch.config.block = {kThreads, 1, 1};
  launch.config.programmaticDependent = true;
  launch.parameters.push_back(std::move(parameter));
  launch.warpRoles.assign(kThreads / 32, "copy");
  launch.packsFilter = taken.size() == 1 && taken.front()->isPacked();
  return launch;
}

/// Why neighbouring channels of neighbouring pixels are no neighbours in memory.
std::string pitchRefusal(const char* name, int64_t pitch, int64_t channels) {
  if (pitch == channels) return {};
  return fmt::format("joined needs {} of the {} channels, without gaps between pixels, but it is {}", name, channels, pitch);
}

class Joined final : public CopyingAlgorithm {
 public:
  using CopyingAlgorithm::CopyingAlgorithm;
  std::string_view name() const override { return kName; }
  /// The algorithms with kernels that multiply.
  std::span<const OptionDescription> options() const override {
    static const std::string names = algorithmNames(search().algorithms(), multiplies);
    static const auto known = copyingOptions(names, "which computes the convolution of joined pixels; otherwise the best");
    return known;
  }

 protected:
  std::string copyingRefusal(const Problem& p, const device::Properties& properties) const override {
    if (p.groups != 1) return fmt::format("joined needs groups = 1, but it is {}", p.groups);
    const int64_t outputBytes = p.k * bitsOf(p.outputType) / 8;
    if (p.taps() == 1 && bitsOf(p.inputType) > 8 && outputBytes > kStoredBytes && outputBytes % kStoredBytes == 0)
      return fmt::format(
          "joined is for filters of several taps, 8-bit inputs, or outputs of at most {0} bytes a pixel or no whole {0}, "
          "but t, r and s are 1, input_type is {1}, and output pixels have {2} bytes",
          kStoredBytes, nameOf(p.inputType), outputBytes);
    if (p.inputScale.blockSize != 0 || p.filterScale.blockSize != 0 || p.outputScale.blockSize != 0)
      return "joined takes no block-scaled tensors";
    for (const DataType type : {p.inputType, p.filterType, p.outputType})
      if (bitsOf(type) % 8 != 0)
        return fmt::format("joined takes tensors of whole bytes, but {} has {} bits", nameOf(type), bitsOf(type));
    if (p.filterZeroPoint != 0)
      return fmt::format("joined needs filter_zero_point = 0, but it is {}: zeros between taps are zeros of the filter only then",
                         p.filterZeroPoint);
    const int64_t pixelBytes = p.c * bitsOf(p.inputType) / 8;
    if (pixelBytes < kLeastPixelBytes || 2 * pixelBytes > kJoinedBytes)
      return fmt::format("joined needs pixels of {} to {} bytes, but {} channels of {} have {}", kLeastPixelBytes, kJoinedBytes / 2,
                         p.c, nameOf(p.inputType), pixelBytes);
    if (std::string refused = pitchRefusal("input_pixel_pitch", p.inputPitch(), p.c); !refused.empty()) return refused;
    if (std::string refused = pitchRefusal("output_pixel_pitch", p.outputPitch(), p.k); !refused.empty()) return refused;
    if (p.hasResidual())
      if (std::string refused = pitchRefusal("residual_pixel_pitch", p.residualPitch(), p.k); !refused.empty()) return refused;
    if (p.w + p.padLeft + p.padRight > kMostColumns)
      return fmt::format("joined needs at most 2^30 columns with padding, but there are {}", p.w + p.padLeft + p.padRight);
    const std::optional<Joining> joining = joiningOf(p);
    if (!joining)
      return fmt::format(
          "joined needs a number of pixels from 2 to {} that stride_w = {} divides, that fill whole 16 bytes and that divide "
          "rows of w = {} pixels, and rows of {} outputs likewise",
          kJoinedBytes / pixelBytes, p.strideW, p.w, p.q());
    if (p.k * p.t * p.r > std::numeric_limits<int32_t>::max() / bytesOfRows(p, *joining))
      return "joined needs fewer than 2^31 bytes in the filter of joined pixels";
    const Problem inner = joinedProblem(p, *joining);
    const std::span all = search().algorithms();
    if (std::none_of(all.begin(), all.end(), [&](const Algorithm* one) {
          return multiplies(*one) && !one->isLastResort() && one->isBuiltFor(properties) &&
                 refusalOf(*one, inner, properties).empty();
        }))
      return "joined needs matrix instructions for its products with zeros, but only direct takes the convolution of joined pixels";
    return {};
  }
  std::string_view ofCopies() const override { return "joined pixels"; }
  Problem problemOfCopies(const Problem& p) const override { return joinedProblem(p, *joiningOf(p)); }
  Copying copying(const Problem& p) const override {
    Copying copies;
    if (p.strideH > 1 && p.r > p.strideH) copies.memoryShare = rates::joined::kStridedMemoryShare;
    copies.launchClocks = rates::joined::kLaunchClocks;
    copies.launches = 1;
    for (const Copy& copy : copiesOf(p, *joiningOf(p))) copies.bytes += static_cast<double>(copy.bytes());
    return copies;
  }
  Status complete(const Candidate& best, const Problem& p, const device::Properties& properties, Plan& plan) const override {
    const Joining joining = *joiningOf(p);
    PerTensor<TensorPlace> places = placesAsGiven();
    plan.details += fmt::format("joins      {} pixels of the input, {} of the output\n", joining.pixels, joining.outputs);
    const std::vector<Copy> copies = copiesOf(p, joining);
    for (const Copy& copy : copies) {
      const auto bytes = static_cast<size_t>(copy.bytes());
      places[copy.tensor] = copy.isPacked() ? placeInPackedFilter(bytes, plan) : placeInWorkspace(bytes, plan);
      plan.details +=
          fmt::format("writes     {}: {} bytes of {}\n", copy.name, bytes, copy.isPacked() ? "packed filter" : "workspace");
    }
    plan.launches.push_back(launchOf(copies, places, [](const Copy&) { return true; }));
    if (copies.size() > 1)
      plan.launches.back().separated = {launchOf(copies, places, [](const Copy& copy) { return copy.isPacked(); }),
                                        launchOf(copies, places, [](const Copy& copy) { return !copy.isPacked(); })};
    return addInner(best, joinedProblem(p, joining), properties, places, plan);
  }
};

}  // namespace

const Algorithm& joinedAlgorithm(const InnerSearch& search) {
  static const Joined algorithm(search);
  return algorithm;
}

}  // namespace shiftconv::plan
