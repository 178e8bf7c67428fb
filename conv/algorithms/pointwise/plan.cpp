#include "conv/algorithms/pointwise/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <utility>

#include "common/layout/ceil_divide.hpp"
#include "conv/plan/algorithm_rates.hpp"
#include "conv/plan/decoding.hpp"
#include "conv/plan/epilogue.hpp"
#include "conv/plan/estimate.hpp"
#include "conv/plan/fastest_first.hpp"
#include "conv/plan/options.hpp"
#include "conv/plan/plain_segment.hpp"
#include "conv/plan/preparation.hpp"
#include "conv/plan/segment_stores.hpp"
#include "conv/plan/shared_memory.hpp"
#include "conv/plan/sm90_limits.hpp"
#include "conv/plan/targets.hpp"

namespace shiftconv::plan {

using namespace kernels::pointwise;
using namespace rates::pointwise;

namespace {

constexpr int32_t kMostParts = 8;
constexpr int64_t kMostPixels = int64_t{1} << 30;

/// Of 8 bits: they become f16 in registers.
bool isDecoded(const Problem& p) { return bitsOf(p.inputType) == 8; }
bool isPlain(const Problem& p) { return isDecoded(p) ? isPlainBytes(p) : isPlainSegment(p); }
bool hasShortEpilogue(const Problem& p) { return isPlain(p) || isScaledSegment(p); }

/// Those with the problem's epilogue.
std::vector<Instance> kernelsOf(const Problem& p) {
  std::vector<Instance> kernels;
  for (const Instance& one : isDecoded(p) ? std::span<const Instance>(kByteInstances) : kInstances)
    if (isPlain(p) || hasWholeEpilogue(static_cast<int32_t>(bytesOf(p.inputType)), one.steps)) kernels.push_back(one);
  return kernels;
}

constexpr int32_t kMostVector = 8;
/// Input channels that the kernels have room for whose loads are of at most so many elements.
int64_t mostChannels(const Problem& p, int32_t vector) {
  int32_t steps = 0;
  for (const Instance& instance : kernelsOf(p))
    if (instance.vector <= vector) steps = std::max(steps, instance.steps);
  return int64_t{kStepChannels} * steps;
}

/// Elements of a load: the largest of 8, 4 and 2 that divides what separates pixels and what a pixel has; 1: none does.
int32_t vectorOf(const Problem& p) {
  const auto bits = static_cast<uint64_t>(kMostVector | p.c | p.inputPitch());
  return 1 << std::countr_zero(bits);
}
int32_t stepsOf(const Problem& p) { return static_cast<int32_t>(ceilDivide(p.c, int64_t{kStepChannels})); }

/// The kernels that can run the problem: of the fewest steps with the widest loads, and where narrower loads waste fewer steps, of
/// those.
std::vector<Instance> instancesOf(const Problem& p) {
  std::vector<Instance> all;
  for (const Instance& instance : kernelsOf(p))
    if (instance.vector <= vectorOf(p) && instance.steps >= stepsOf(p)) all.push_back(instance);
  std::vector<Instance> least;
  for (const Instance& one : all) {
    const bool isBeaten = std::any_of(all.begin(), all.end(), [&](const Instance& other) {
      return other.pixels == one.pixels && other.vector >= one.vector && other.steps <= one.steps &&
             (other.vector != one.vector || other.steps != one.steps);
    });
    if (!isBeaten) least.push_back(one);
  }
  return least;
}

/// Of the filter where it is multiplied from, and of its channels' bias.
int64_t filterBytesOf(const Problem& p, const Instance& instance, int64_t channelGroups) {
  const int64_t biasBytes = isDecoded(p) ? 0 : static_cast<int64_t>(sizeof(float));
  return channelGroups * kGroupChannels * (filterPitch(instance.vector, instance.steps) + biasBytes);
}
/// And of what lies after it: its bytes as they come, later gathered outputs.
int64_t sharedBytesOf(const Problem& p, const Instance& instance, int64_t channelGroups, int64_t gathered = 0) {
  const int64_t coming = isDecoded(p) ? channelGroups * kGroupChannels * p.c : 0;
  return filterBytesOf(p, instance, channelGroups) + std::max(coming, gathered);
}
/// Of the outputs of a CTA's tiles, one for each of `pixelWarps`.
int64_t gatheredBytes(const Problem& p, const Instance& instance, int64_t pixelWarps) {
  return pixelWarps * instance.pixels * p.k * bytesOf(p.outputType);
}
/// Whether the outputs of neighbouring pixels are one run of bytes, of the short epilogue, and pieces of 16 bytes are not whole
/// channels of one pixel: those leave as fast from registers (observed on an H200).
bool isOneRun(const Problem& p) { return hasShortEpilogue(p) && p.outputPitch() == p.k && p.k * bytesOf(p.outputType) % 16 != 0; }
int32_t residentCtas(const Problem& p, const Instance& instance) {
  return ctasPerMultiprocessor(static_cast<int32_t>(bytesOf(p.inputType)), instance);
}
/// What each of the CTAs of a multiprocessor may have.
int64_t sharedLimit(const Problem& p, const device::Properties& properties, const Instance& instance) {
  return sharedBytesOfEach(properties, residentCtas(p, instance));
}

layout::FastDivisor divisor(int64_t value) { return layout::FastDivisor(static_cast<uint32_t>(value)); }

/// What does not depend on the choices.
PointwisePlan commonPlan(const Problem& p) {
  PointwisePlan plan;
  plan.element = isDecoded(p) ? "bytes" : sm90::elementName(p);
  Params& params = plan.params;
  const int64_t pixelBytes = p.inputPitch() * bytesOf(p.inputType);
  params.inputChannels = static_cast<int32_t>(p.c);
  params.isLinear = p.strideD == 1 && p.strideH == 1 && p.strideW == 1;
  params.outputDepth = divisor(p.z());
  params.outputHeight = divisor(p.p());
  params.outputWidth = divisor(p.q());
  params.pixelBytes = p.strideW * pixelBytes;
  params.rowBytes = p.strideH * p.w * pixelBytes;
  params.planeBytes = p.strideD * p.h * p.w * pixelBytes;
  params.imageBytes = p.d * p.h * p.w * pixelBytes;
  params.plain = isPlain(p);
  params.scales = isScaledSegment(p);
  if (p.k % kSegmentChannels == 0 && p.outputPitch() % kSegmentChannels == 0 &&
      (!p.hasResidual() || p.residualPitch() % kSegmentChannels == 0) && !p.addsResidualLast())
    params.lean = leanOf(p);
  params.inputs = decodingOf(p, p.inputType);
  params.filters = decodingOf(p, p.filterType);
  params.epilogue = epilogueOf(p);
  return plan;
}

constexpr int64_t kSectorBits = 256;

void model(const Problem& p, const device::Properties& properties, PointwisePlan& plan) {
  const Rates& rates = ratesOf(properties);
  const Params& params = plan.params;
  const Instance& instance = plan.instance;
  const double multiprocessors = std::max<uint32_t>(1, properties.multiprocessors);
  const double ctas = static_cast<double>(plan.launch.grid.count());
  const double ofOne = std::ceil(ctas / multiprocessors);  // CTAs of a multiprocessor
  const double warpsOfGrid = static_cast<double>(plan.launch.grid.x) * (plan.warps / plan.channelWarps);
  const double rounds = std::ceil(params.tiles / warpsOfGrid);
  const double groups = std::ceil(static_cast<double>(params.channelGroups) / plan.channelWarps);
  const double group = (hasShortEpilogue(p) ? kGroupLatency : kWholeGroupLatency) * instance.pixels / 16 + instance.steps * kStepLatency;
  const double latency = rounds * (groups * group + kRoundLatency) + kTileLatency;

  const double tiles = rounds * plan.warps / plan.channelWarps * ofOne;  // of a multiprocessor, in each part of the channels
  const double filterBytes = static_cast<double>(plan.launch.dynamicSharedBytes) * ofOne;
  const double inputBytes = tiles * instance.pixels * static_cast<double>(p.c * bytesOf(p.inputType));
  const double outputs =
      tiles * instance.pixels * static_cast<double>(std::min<int64_t>(p.k, params.channelGroups * kGroupChannels));
  const double storedBits = static_cast<double>(bitsOf(p.outputType)) *
                            (!params.gathers && p.k * bitsOf(p.outputType) % kSectorBits != 0 ? kTornSectors : 1);
  const double outputBytes = outputs * (storedBits + (p.hasResidual() ? static_cast<double>(bitsOf(p.residualType)) : 0)) / 8;
  const double groupSteps = tiles * params.channelGroups * instance.steps;
  const double products = groupSteps * instance.pixels * kGroupChannels * kStepChannels;
  const double instructions = groupSteps * (instance.pixels / 16 * 4 + 4.0 / (instance.vector == 8 ? 2 : 1)) +
                              outputs / 32 * (hasShortEpilogue(p) ? 2.5 : 20) + tiles * instance.steps * 64.0 / instance.vector;
  struct {
    double clocks;
    Resource resource;
  } const limits[] = {{latency, Resource::L2ToShared},
                      {(filterBytes + inputBytes + outputBytes) / kL2BytesPerClock, Resource::L2ToShared},
                      {groupSteps * 1024 / rates.of(Resource::SharedReads), Resource::SharedReads},
                      {products / rates.of(Resource::WarpProducts), Resource::TensorCore},
                      {instructions / kInstructionsPerClock, Resource::CudaCores},
                      {bytesOnce(p) / rates.of(Resource::DeviceMemory), Resource::DeviceMemory},
                      {params.gathers ? 0 : segmentStoreClocks(p, rates, outputs), Resource::BulkStores}};
  const auto& slowest =
      *std::max_element(std::begin(limits), std::end(limits), [](const auto& a, const auto& b) { return a.clocks < b.clocks; });
  double others = -slowest.clocks;
  for (const auto& limit : limits) others += limit.clocks;
  plan.modelledClocks = kStartClocks + filterBytes / kL2BytesPerClock + slowest.clocks + kSerialShare * others;
  plan.bound = slowest.resource;
  const auto share = [&](size_t limit) { return static_cast<float>(limits[limit].clocks / slowest.clocks); };
  plan.modelParts = {share(0), share(1), share(4), share(5)};
}

void complete(const Problem& p, const device::Properties& properties, PointwisePlan& plan) {
  Params& params = plan.params;
  const int64_t pixelWarps = plan.warps / plan.channelWarps;
  params.tiles = static_cast<int32_t>(ceilDivide(p.outputPixels(), int64_t{plan.instance.pixels}));
  params.channelWarpsShift = static_cast<uint32_t>(std::countr_zero(static_cast<uint32_t>(plan.channelWarps)));
  // CTAs of fewer warps leave room for more.
  const int64_t together =
      int64_t{std::max<uint32_t>(1, properties.multiprocessors)} * residentCtas(p, plan.instance) * (kMostWarps / plan.warps);
  const int64_t most = std::max<int64_t>(1, together / plan.parts), rounds = ceilDivide(int64_t{params.tiles}, most * pixelWarps);
  plan.launch.grid = {static_cast<uint32_t>(ceilDivide(int64_t{params.tiles}, rounds * pixelWarps)),
                      static_cast<uint32_t>(plan.parts), 1};
  plan.launch.block = {static_cast<uint32_t>(plan.warps * 32), 1, 1};
  params.spareOffset = static_cast<int32_t>(filterBytesOf(p, plan.instance, params.channelGroups));
  const int64_t gathered = params.gathers ? gatheredBytes(p, plan.instance, pixelWarps) : 0;
  plan.launch.dynamicSharedBytes = static_cast<uint32_t>(sharedBytesOf(p, plan.instance, params.channelGroups, gathered));
  model(p, properties, plan);
}

}  // namespace

std::string pointwiseRefusal(const Problem& p, const device::Properties& properties) {
  if (std::string refused = targetRefusal("pointwise", properties); !refused.empty()) return refused;
  const auto needs = [](std::string_view what) { return fmt::format("pointwise needs {}", what); };
  if (p.inputScale.blockSize != 0 || p.filterScale.blockSize != 0) return "pointwise takes no block scales of operands";
  using enum DataType;
  const auto both = [&](DataType a, DataType b) {
    return (p.inputType == a || p.inputType == b) && (p.filterType == a || p.filterType == b);
  };
  if (!both(F16, F16) && !both(BF16, BF16) && !both(E4M3, E5M2) && !both(S8, U8))
    return fmt::format(
        "pointwise multiplies f16 or bf16 with the same, and 8-bit floats or integers with each other, but input_type and "
        "filter_type are {} and {}",
        nameOf(p.inputType), nameOf(p.filterType));
  if (p.compute != Compute::Default) return fmt::format("pointwise sums in f32, but compute is {}", nameOf(p.compute));
  if (p.t * p.r * p.s != 1) return needs(fmt::format("a filter of one tap, but T, R and S are {}, {} and {}", p.t, p.r, p.s));
  if (p.padFront + p.padBack + p.padTop + p.padBottom + p.padLeft + p.padRight != 0)
    return needs("an input without padding, as a padded 1x1 convolution only adds the bias there");
  if (p.groups != 1) return needs(fmt::format("one group, but there are {}", p.groups));
  if (std::string refused = zeroPointRefusal("pointwise", p); !refused.empty()) return refused;
  if (isDecoded(p) && p.addsResidualLast())
    return "pointwise adds no residual after the activation (residual_last) of 8-bit operands";
  if (p.c > mostChannels(p, kMostVector))
    return needs(fmt::format("C up to {} (a pixel stays in a warp's registers), but it is {}", mostChannels(p, kMostVector), p.c));
  if (vectorOf(p) == 1) return needs(fmt::format("an even C and input_pixel_pitch, but they are {} and {}", p.c, p.inputPitch()));
  if (instancesOf(p).empty())
    return needs(fmt::format("C up to {} where it or input_pixel_pitch is no multiple of {}, but they are {} and {}",
                             mostChannels(p, kMostVector / 2), kMostVector, p.c, p.inputPitch()));
  if (p.outputPixels() >= kMostPixels) return needs("fewer than 2^30 output pixels");
  if (p.k > (1 << 20)) return needs(fmt::format("K up to 2^20, but it is {}", p.k));
  const Instance instance = instancesOf(p).front();
  const int64_t allGroups = ceilDivide(p.k, int64_t{kGroupChannels});
  const auto parts = std::bit_floor(static_cast<uint64_t>(std::min<int64_t>(allGroups, kMostParts)));
  const int64_t groups = ceilDivide(allGroups, static_cast<int64_t>(parts));
  if (const int64_t bytes = sharedBytesOf(p, instance, groups); bytes > sharedLimit(p, properties, instance))
    return needs(fmt::format("the filter in shared memory, at least one of {} parts, but K {} makes it {} bytes and there are {}",
                             parts, p.k, bytes, sharedLimit(p, properties, instance)));
  return epilogueRefusal("pointwise", p, kSegmentChannels);
}

std::vector<PointwisePlan> pointwiseCandidates(const Problem& p, const device::Properties& properties,
                                               const PointwiseChoices& choices) {
  const PointwisePlan common = commonPlan(p);
  const auto differs = [](const std::optional<int32_t>& choice, int32_t value) { return choice && *choice != value; };
  const auto allGroups = static_cast<int32_t>(ceilDivide(p.k, int64_t{kGroupChannels}));
  const bool isOpen = !choices.parts && !choices.warps && !choices.channelWarps;
  std::vector<PointwisePlan> plans;
  for (const Instance& instance : instancesOf(p)) {
    if (differs(choices.pixels, instance.pixels) || differs(choices.loads, instance.vector)) continue;
    // Unless asked for, output channels are shared, and CTAs small, only where there are too few tiles for all warps.
    const int64_t warpsAtOnce = int64_t{properties.multiprocessors} * residentCtas(p, instance) * kMostWarps;
    const bool hasFewTiles = ceilDivide(p.outputPixels(), int64_t{instance.pixels}) < warpsAtOnce;
    bool offered = false;
    int32_t partsBefore = 0;
    for (int32_t wanted = 1; wanted <= std::min(kMostParts, allGroups); wanted *= 2) {
      const auto groups = static_cast<int32_t>(ceilDivide(int64_t{allGroups}, int64_t{wanted}));
      const auto parts = static_cast<int32_t>(ceilDivide(int64_t{allGroups}, int64_t{groups}));  // none of them empty
      if (parts == std::exchange(partsBefore, parts) || differs(choices.parts, parts)) continue;
      if (sharedBytesOf(p, instance, groups) > sharedLimit(p, properties, instance)) continue;
      for (const int32_t warps : {kMostWarps, kMostWarps / 2})
        for (int32_t channelWarps = 1; channelWarps <= std::min(warps, groups); channelWarps *= 2) {
          if (differs(choices.warps, warps) || differs(choices.channelWarps, channelWarps)) continue;
          if (isOpen && offered && !hasFewTiles) continue;
          offered = true;
          const bool gatherable = hasSpareRegisters(instance.steps) && isOneRun(p) && parts == 1 &&
                                  sharedBytesOf(p, instance, groups, gatheredBytes(p, instance, warps / channelWarps)) <=
                                      sharedLimit(p, properties, instance) * warps / kMostWarps;
          for (const bool gathers : {true, false}) {
            if (choices.gathers.value_or(gathers) != gathers || (gathers && !gatherable)) continue;
            PointwisePlan plan = common;
            plan.instance = instance;
            plan.parts = parts;
            plan.warps = warps;
            plan.channelWarps = channelWarps;
            plan.params.channelGroups = groups;
            plan.params.gathers = gathers;
            complete(p, properties, plan);
            plan.launch.programmaticDependent = choices.dependent;
            spreadEvenly(properties, plan.launch);
            plans.push_back(std::move(plan));
          }
        }
    }
  }
  fastestFirst(plans);
  return plans;
}

std::string PointwisePlan::kernelName() const {
  return fmt::format("pointwise_{}_v{}_s{}_{}", element, instance.vector, instance.steps, instance.pixels);
}

std::string PointwisePlan::options() const {
  return OptionText()
      .add("pixels", instance.pixels)
      .add("loads", instance.vector)
      .add("warps", warps)
      .add("channel_warps", channelWarps)
      .add("parts", parts)
      .add("gathers", params.gathers ? "yes" : "no")
      .addIf(!launch.programmaticDependent, "dependent", "no")
      .text();
}

std::string PointwisePlan::describe() const {
  return fmt::format(
      "{}, tiles of {} pixels in loads of {} channels; {} warps a CTA, {} of them side by side along the output channels, {} parts "
      "of these{}; {} x {} CTAs, {} bytes of shared memory; modelled {:.0f} clocks",
      kernelName(), instance.pixels, instance.vector, warps, channelWarps, parts,
      params.gathers ? ", outputs gathered in shared memory" : "", launch.grid.x, launch.grid.y, launch.dynamicSharedBytes,
      modelledClocks);
}

}  // namespace shiftconv::plan
