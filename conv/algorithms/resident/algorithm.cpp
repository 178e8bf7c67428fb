#include "conv/algorithms/resident/algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <utility>

#include "conv/plan/algorithm_rates.hpp"
#include "conv/plan/estimate.hpp"
#include "conv/plan/fastest_first.hpp"
#include "conv/plan/limits.hpp"
#include "conv/plan/listed_algorithm.hpp"
#include "conv/plan/options.hpp"
#include "conv/plan/sm90_limits.hpp"
#include "conv/plan/targets.hpp"
#include "resident_sm90_image.hpp"

namespace shiftconv::plan {

using namespace sm90;
using namespace kernels::resident;
using namespace rates::resident;

namespace {

constexpr int64_t kMostOffset = int64_t{1} << 31;  // of a byte in a tensor
constexpr int64_t kMostGrid = 65535;               // gridDim.y and z

/// The time of a plan.
void model(double problemBytes, const device::Properties& properties, ResidentPlan& plan) {
  const Params& p = plan.params;
  const double multiprocessors = std::max<uint32_t>(1, properties.multiprocessors);
  const double ctas = static_cast<double>(plan.launch.grid.count());
  const double bytes = static_cast<double>(p.steps) * kStageBytes + static_cast<double>(p.chunksPerRank) * p.slotPixels * kRowBytes;
  const double waves =
      std::max(1.0, static_cast<double>(ceilDivide(static_cast<int64_t>(ctas), static_cast<int64_t>(multiprocessors))));
  const double work = waves * (std::max(bytes / kCopyBytesPerClock, p.steps * kStepClocks) + kTileClocks);
  const double memory = problemBytes / ratesOf(properties).of(Resource::DeviceMemory);
  plan.bound = memory > work ? Resource::DeviceMemory : Resource::L2ToShared;
  plan.modelledClocks = corrected(kStartClocks + std::max(work, memory) + (p.splitShift > 0 ? kReductionClocks : 0), kCorrection,
                                  p.taps > 1 ? kTapsShare : 0);
}

/// The box of a tile, however the reduction is split.
struct Placed {
  halo::Cut cut;
  halo::Boxes sizes;
  kernels::halo::Params boxes;
};

bool place(const halo::Geometry& g, const halo::Taps& taps, HaloCut kind, Placed& placed) {
  if (!halo::cutInto(g, taps, kind, kTilePixels, placed.cut)) return false;
  placed.cut.images = 1;
  if (!halo::boxesOf(g, taps, placed.cut, kTilePixels, 0, placed.sizes) || placed.sizes.boxes != 1) return false;
  halo::InputTileMaps maps;
  halo::placePatches(g, taps, placed.cut, 0, placed.sizes, placed.boxes, maps);
  return true;
}

bool complete(const Problem& problem, double bytes, const halo::Geometry& g, const Placed& placed, int32_t split,
              const device::Properties& properties, ResidentPlan& plan) {
  const auto& [cut, sizes, boxes] = placed;
  plan.cut = cut.kind;
  Params& params = plan.params;
  const int64_t chunks = ceilDivide(g.c, kChunkChannels), chunksPerRank = ceilDivide(chunks, split);
  if (chunksPerRank * (split - 1) >= chunks) return false;  // a rank would have nothing
  const int64_t steps = chunksPerRank * sizes.taps;
  const int64_t sharedBytes = layout::kSwizzle128AtomBytes + chunksPerRank * sizes.slotBytes + steps * kStageBytes +
                              (split - 1) * int64_t{kSumsBytes} + kControlBytes;
  if (sharedBytes > properties.sharedBytesPerBlock) return false;

  const int64_t rowTiles = ceilDivide(g.p, cut.rows), channelTiles = ceilDivide(g.k, kTileChannels),
                columnTiles = ceilDivide(g.q, cut.columns);
  if (split > 1 && columnTiles * rowTiles * g.n * channelTiles * split > mostClusteredCtas(properties, split)) return false;
  if (rowTiles * g.n > kMostGrid || channelTiles > kMostGrid) return false;
  params.tapBytes = static_cast<uint32_t>(g.c * g.elementBytes);
  params.filterRowBytes = params.tapBytes * static_cast<uint32_t>(sizes.taps);
  params.c = static_cast<int32_t>(g.c);
  params.k = static_cast<int32_t>(g.k);
  params.taps = sizes.taps;
  params.splitShift = std::countr_zero(static_cast<uint32_t>(split));
  params.chunksPerRank = static_cast<int32_t>(chunksPerRank);
  params.steps = static_cast<int32_t>(steps);
  params.rowTiles = layout::FastDivisor(static_cast<uint32_t>(rowTiles));
  params.boxColumns = layout::FastDivisor(static_cast<uint32_t>(cut.boxColumns));
  params.tileColumns = static_cast<int32_t>(cut.columns);
  params.tileRows = static_cast<int32_t>(cut.rows);
  params.padTop = -boxes.patch[0].rowOffset;
  params.padLeft = -boxes.patch[0].columnOffset;
  params.h = static_cast<int32_t>(g.h);
  params.w = static_cast<int32_t>(g.w);
  params.pixelBytes = static_cast<uint32_t>(g.inputPitch * g.elementBytes);
  params.boxRows = static_cast<int32_t>(boxes.patch[0].bytes / kRowBytes / static_cast<uint32_t>(cut.boxColumns));
  params.slotPixels = static_cast<int32_t>(sizes.slotBytes / kRowBytes);
  params.groupStrideBytes = boxes.groupStrideBytes;
  for (int32_t t = 0; t < sizes.taps; ++t) params.tapOffset[t] = static_cast<uint16_t>(boxes.tap[t].row * (kRowBytes / 16));
  params.pitch = layout::FastDivisor(static_cast<uint32_t>(cut.pitch));
  params.p = static_cast<int32_t>(g.p);
  params.q = static_cast<int32_t>(g.q);
  params.outputPixelBytes = static_cast<uint32_t>(g.outputPitch * g.outputBytes);
  params.limits = limitsOf(problem);
  params.bias.type = numberType(problem.biasType);
  params.residualPixelBytes = static_cast<uint32_t>(problem.residualPitch() * g.outputBytes);
  params.beta = problem.beta;

  plan.launch.grid = {static_cast<uint32_t>(columnTiles * split), static_cast<uint32_t>(rowTiles * g.n),
                      static_cast<uint32_t>(channelTiles)};
  plan.launch.block = {kThreads, 1, 1};
  plan.launch.cluster = {static_cast<uint32_t>(split), 1, 1};
  plan.launch.dynamicSharedBytes = static_cast<uint32_t>(sharedBytes);
  plan.element = elementName(problem);
  plan.hasResidual = problem.hasResidual();
  model(bytes, properties, plan);
  return true;
}

/// Calls visit(plan) for every plan that fits, until it returns false.
template <class Visit>
void forEachResident(const Problem& problem, const device::Properties& properties, const ResidentChoices& choices, Visit&& visit) {
  const halo::Geometry g = halo::geometryOf(problem);
  if (g.r * g.s > kMaximumTaps) return;
  const halo::Taps taps = halo::tapsOf(g);
  const double bytes = bytesOnce(problem);
  for (const HaloCut cut : {HaloCut::Columns, HaloCut::Flat}) {
    Placed placed;
    if ((choices.cut && *choices.cut != cut) || !place(g, taps, cut, placed)) continue;
    for (const int32_t split : {1, 2, 4}) {
      if (choices.split && *choices.split != split) continue;
      ResidentPlan plan;
      if (!complete(problem, bytes, g, placed, split, properties, plan)) continue;
      plan.launch.programmaticDependent = choices.dependent != Dependence::None;
      plan.params.filterAhead = choices.dependent == Dependence::Filter;
      if (!visit(plan)) return;
    }
  }
}

}  // namespace

std::string residentRefusal(const Problem& p, const device::Properties& properties) {
  if (std::string reason = plainRefusal("resident", p, properties, ResidualAdded::Yes); !reason.empty()) return reason;
  if (p.groups > 1) return fmt::format("resident needs groups = 1, but it is {}", p.groups);
  if (p.strideH != 1 || p.strideW != 1)
    return fmt::format("resident needs stride_h and stride_w of 1, but they are {} and {}", p.strideH, p.strideW);
  if (p.c % kVectorChannels != 0) return fmt::format("resident needs C to be a multiple of 8 (16-byte rows), but C is {}", p.c);
  if (p.inputPitch() % kVectorChannels != 0)
    return fmt::format("resident needs input_pixel_pitch to be a multiple of 8 elements, but it is {}", p.inputPitch());
  for (const auto& [tensor, elements] : {std::pair{"input", p.inputPixels() * p.inputPitch()},
                                         {"output", p.outputPixels() * p.outputPitch()},
                                         {"residual", p.hasResidual() ? p.outputPixels() * p.residualPitch() : 0},
                                         {"filter", p.k * p.r * p.s * p.c}})
    if (elements * 2 >= kMostOffset)
      return fmt::format("resident needs less than 2^31 bytes of {}, but there are {}", tensor, elements * 2);
  if (p.k > kMostGrid * kTileChannels)
    return fmt::format("resident needs K up to {}, but it is {}", kMostGrid * kTileChannels, p.k);
  bool fits = false;
  forEachResident(p, properties, {}, [&](const ResidentPlan&) {
    fits = true;
    return false;
  });
  if (!fits)
    return fmt::format(
        "resident has no tile for {} images and a {}x{} filter of {} channels: the boxes and the weights of 64 pixels x 32 "
        "channels, of a quarter of the input channels at least, have to fit into shared memory, and N times the tiles down an "
        "image into a grid of {}",
        p.n, p.r, p.s, p.c, kMostGrid);
  return {};
}

std::vector<ResidentPlan> residentCandidates(const Problem& problem, const device::Properties& properties,
                                             const ResidentChoices& choices) {
  std::vector<ResidentPlan> plans;
  forEachResident(problem, properties, choices, [&](const ResidentPlan& plan) {
    plans.push_back(plan);
    return true;
  });
  fastestFirst(plans);
  return plans;
}

std::string ResidentPlan::kernelName() const { return fmt::format("resident_sm90_{}{}", element, hasResidual ? "_residual" : ""); }

std::string ResidentPlan::describe() const {
  return fmt::format(
      "{} {}, tile {}x{} pixels x {} channels{}; grid {}x{}x{}, {} steps, box of {} KiB; {} bytes of shared memory; modelled "
      "{:.0f} clocks",
      kernelName(), toString(cut), params.tileRows, params.tileColumns, kTileChannels,
      split() > 1 ? fmt::format(", reduction split by {}", split()) : "", launch.grid.x, launch.grid.y, launch.grid.z, params.steps,
      static_cast<uint32_t>(params.slotPixels) * kRowBytes / 1024, launch.dynamicSharedBytes, modelledClocks);
}

namespace {

constexpr std::array<HaloCut, 2> kCuts{HaloCut::Columns, HaloCut::Flat};
constexpr std::array<std::string_view, 2> kCutNames{"columns", "flat"};
constexpr std::array<OptionDescription, 3> kOptions{{{"cut", "columns, flat", "8-column groups, or whole rows with their pads"},
                                                     {"split", "1, 2, 4", "CTAs that share the reduction of a tile"},
                                                     kFilterDependentOption}};

Status readResident(std::string_view text, ResidentChoices& choices) {
  OptionValues values;
  if (Status status = OptionValues::parse(text, kOptions, values); !status.ok()) return status;
  std::optional<size_t> cut;
  if (Status status = values.choice("cut", kCutNames, cut); !status.ok()) return status;
  if (cut) choices.cut = kCuts[*cut];
  std::optional<uint32_t> split;
  if (Status status = values.number("split", 1, kMaximumSplit, 1, split); !status.ok()) return status;
  if (split) choices.split = static_cast<int32_t>(*split);
  return values.dependent(choices.dependent);
}

std::string optionsOf(const ResidentPlan& plan) {
  return fmt::format("cut={},split={}{}", toString(plan.cut), plan.split(),
                     plan.params.filterAhead             ? ",dependent=filter"
                     : plan.launch.programmaticDependent ? ""
                                                         : ",dependent=no");
}

class Resident final : public ListedAlgorithm<ResidentChoices, ResidentPlan> {
 public:
  std::string_view name() const override { return "resident"; }
  std::optional<Accumulation> accumulation() const override { return Accumulation::WgmmaTensorCore; }
  std::span<const OptionDescription> options() const override { return kOptions; }
  bool isBuiltFor(const device::Properties& properties) const override { return isHopper(properties); }
  std::string refusal(const Problem& problem, const device::Properties& properties) const override {
    return residentRefusal(problem, properties);
  }

 protected:
  Status read(std::string_view text, ResidentChoices& choices) const override { return readResident(text, choices); }
  std::vector<ResidentPlan> list(const Problem& problem, const device::Properties& properties,
                                 const ResidentChoices& choices) const override {
    return residentCandidates(problem, properties, choices);
  }
  std::string optionText(const ResidentPlan& made) const override { return optionsOf(made); }
  Tiling tiling(const ResidentPlan& made) const override {
    return {made.params.tileRows * made.params.tileColumns, kTileChannels, made.split(), {static_cast<int32_t>(made.cut)}};
  }
  void addLaunches(const Problem&, const ResidentPlan& made, Plan& plan) const override {
    Parameter params = Parameter::value(made.params);
    params.address(offsetof(Params, input), {TensorName::Input});
    params.address(offsetof(Params, filter), {TensorName::Filter});
    params.address(offsetof(Params, bias.numbers), {TensorName::Bias});
    params.address(offsetof(Params, output), {TensorName::Output});
    params.address(offsetof(Params, residual), {TensorName::Residual});
    plan.launches.push_back(
        {images::resident_sm90(), made.kernelName(), made.launch, {std::move(params)}, sameRoles(made.launch, "copy")});
  }
};

}  // namespace

const Algorithm& residentAlgorithm() {
  static const Resident algorithm;
  return algorithm;
}

}  // namespace shiftconv::plan
