#include "conv/algorithms/phases/algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <numeric>
#include <utility>

#include "common/layout/ceil_divide.hpp"
#include "conv/algorithms/phases/params.hpp"
#include "conv/algorithms/phases/phase_axis.hpp"
#include "conv/plan/inner_plan.hpp"
#include "conv/plan/targets.hpp"
#include "conv/problem/tensors.hpp"
#include "conv/problem/text.hpp"
#include "conv/problem/validation.hpp"
#include "phases_image.hpp"

namespace shiftconv::plan {
namespace {

using kernels::phases::kAxes;
using kernels::phases::kMostPhases;
using kernels::phases::kThreads;
using kernels::phases::Params;

constexpr std::string_view kName = "phases";
constexpr size_t kAlignment = 256;

/// One of the convolutions; phases with the same problem share a plan.
struct PlannedPhase {
  std::array<AxisPhase, kAxes> axes;
  Problem problem;
  bool isEmpty = false;
  size_t sameAs = 0;  ///< the first phase with this problem

  bool exists() const { return axes[0].outputs > 0 && axes[1].outputs > 0 && axes[2].outputs > 0; }
  bool isExact() const { return axes[0].isExact() && axes[1].isExact() && axes[2].isExact(); }
};

int64_t phaseCount(const Problem& p) {
  int64_t count = 1;
  for (const int64_t stride : {p.strideD, p.strideH, p.strideW}) count = std::min<int64_t>(kMostPhases + 1, count * stride);
  return count;
}

/// In the order of the kernels: the width fastest. Of at most kMostPhases.
std::vector<PlannedPhase> phasesOf(const Problem& p) {
  const TransposedAxis depth{p.d, p.z(), p.t, p.strideD, p.dilationD, p.padFront},
      height{p.h, p.p(), p.r, p.strideH, p.dilationH, p.padTop}, width{p.w, p.q(), p.s, p.strideW, p.dilationW, p.padLeft};
  std::vector<PlannedPhase> phases;
  for (int64_t z = 0; z < p.strideD; ++z)
    for (int64_t y = 0; y < p.strideH; ++y)
      for (int64_t x = 0; x < p.strideW; ++x) {
        PlannedPhase phase;
        phase.axes = {phaseOf(depth, z), phaseOf(height, y), phaseOf(width, x)};
        const auto& [a, b, c] = phase.axes;
        phase.isEmpty = a.taps == 0 || b.taps == 0 || c.taps == 0;
        Problem& one = phase.problem = p;
        one.transposed = one.filterFlipped = false;
        one.outputPaddingD = one.outputPaddingH = one.outputPaddingW = 0;
        one.outputPixelPitch = one.residualPixelPitch = 0;
        one.strideD = one.strideH = one.strideW = 1;
        one.t = std::max<int64_t>(1, a.taps), one.r = std::max<int64_t>(1, b.taps), one.s = std::max<int64_t>(1, c.taps);
        one.dilationD = a.dilation, one.dilationH = b.dilation, one.dilationW = c.dilation;
        one.padFront = a.padBefore, one.padBack = a.padAfter;
        one.padTop = b.padBefore, one.padBottom = b.padAfter;
        one.padLeft = c.padBefore, one.padRight = c.padAfter;
        phase.sameAs = phases.size();
        for (size_t i = 0; i < phases.size(); ++i)
          if (phases[i].exists() && phase.exists() && phases[i].problem == one) {
            phase.sameAs = i;
            break;
          }
        phases.push_back(std::move(phase));
      }
  return phases;
}

/// Whether phase i needs a plan of its own.
bool isFirst(const std::vector<PlannedPhase>& phases, size_t i) { return phases[i].exists() && phases[i].sameAs == i; }

/// What plans the phases, and how.
struct Inner {
  std::vector<const Algorithm*> algorithms;
  bool isBatchInvariant = false;
};

struct Places {
  std::vector<kernels::phases::Phase> phases;
  size_t bytes = 0, packedBytes = 0;  ///< of outputs and residuals, after which lies the workspace that phases share; of filters
};

int64_t rowBytes(const Problem& p) { return p.groupChannels() * bytesOf(p.filterType); }

Places placesOf(const Problem& p, const std::vector<PlannedPhase>& phases) {
  Places places;
  const auto take = [](int64_t taken, size_t& bytes) {
    const size_t place = bytes;
    bytes += (static_cast<size_t>(taken) + kAlignment - 1) / kAlignment * kAlignment;
    return place;
  };
  for (const PlannedPhase& planned : phases) {
    kernels::phases::Phase phase;
    if (planned.exists()) {
      const Problem& one = planned.problem;
      const int64_t taps[kAxes] = {one.t, one.r, one.s}, filterTaps[kAxes] = {p.t, p.r, p.s};
      for (int axis = 0; axis < kAxes; ++axis) {
        const AxisPhase& a = planned.axes[static_cast<size_t>(axis)];
        phase.taps[axis] = static_cast<int32_t>(taps[axis]);
        // Of a flipped filter the taps are counted from its end; filterParams() turns their steps around.
        phase.firstTap[axis] = static_cast<int32_t>(p.filterFlipped ? filterTaps[axis] - 1 - a.firstTap : a.firstTap);
        phase.extent[axis] = static_cast<int32_t>(a.computed);
        phase.skip[axis] = static_cast<int32_t>(a.skip);
      }
      phase.isEmpty = planned.isEmpty;
      phase.filter = take(one.k * one.t * one.r * one.s * rowBytes(one), places.packedBytes);
      phase.output = take(one.outputPixels() * one.k * bytesOf(one.outputType), places.bytes);
      if (p.hasResidual()) phase.residual = take(one.outputPixels() * one.k * bytesOf(one.residualType), places.bytes);
    }
    places.phases.push_back(phase);
  }
  return places;
}

/// The longest of 16, 8, 4, 2 and 1 bytes that divides both.
int32_t commonVectorBytes(int64_t a, int64_t b) { return static_cast<int32_t>(std::gcd(std::gcd(a, b), int64_t{16})); }

void setVectors(Params& params, int64_t bytes, int64_t pitch) {
  params.vectorBytes = commonVectorBytes(bytes, pitch);
  params.rowVectors = layout::FastDivisor(static_cast<uint32_t>(bytes / params.vectorBytes));
}

Params commonParams(const Problem& p, const Places& places) {
  Params params;
  std::copy(places.phases.begin(), places.phases.end(), params.phase);
  const auto divisor = [](int64_t value) { return layout::FastDivisor(static_cast<uint32_t>(value)); };
  const int64_t strides[kAxes] = {p.strideD, p.strideH, p.strideW};
  std::transform(strides, strides + kAxes, params.stride, [](int64_t stride) { return static_cast<int32_t>(stride); });
  params.outputDepth = divisor(p.z());
  params.outputHeight = divisor(p.p());
  params.outputWidth = divisor(p.q());
  params.pixels = static_cast<uint32_t>(p.outputPixels());
  return params;
}

Params filterParams(const Problem& p, const Places& places) {
  Params params = commonParams(p, places);
  const int64_t taps[kAxes] = {p.t, p.r, p.s}, strides[kAxes] = {p.strideD, p.strideH, p.strideW},
                dilations[kAxes] = {p.dilationD, p.dilationH, p.dilationW};
  for (int axis = 0; axis < kAxes; ++axis) {
    params.filterTaps[axis] = static_cast<int32_t>(taps[axis]);
    const int64_t step = strides[axis] / std::gcd(strides[axis], dilations[axis]);
    params.tapStep[axis] = static_cast<int32_t>(p.filterFlipped ? -step : step);
  }
  params.filterRows = static_cast<int32_t>(p.k);
  params.zeros = 0x01010101u * static_cast<uint8_t>(p.filterZeroPoint);
  setVectors(params, rowBytes(p), rowBytes(p));
  return params;
}

/// `phases`: the tensor that holds those of the phases.
PlannedLaunch launchOf(const char* kernel, int64_t threads, int64_t gridY, Params params, TensorName tensor, TensorName phases) {
  PlannedLaunch launch;
  launch.image = images::phases();
  launch.kernel = kernel;
  launch.config.grid = {static_cast<uint32_t>(ceilDivide(threads, int64_t{kThreads})), static_cast<uint32_t>(gridY), 1};
  launch.config.block = {kThreads, 1, 1};
  Parameter parameter = Parameter::value(params);
  parameter.address(offsetof(Params, tensor), {tensor}).address(offsetof(Params, workspace), {phases});
  launch.parameters.push_back(std::move(parameter));
  launch.warpRoles.assign(kThreads / 32, "move");
  return launch;
}

/// Moves pixels between the phases and a tensor of the output's shape.
PlannedLaunch moveOf(const char* kernel, const Problem& p, const Places& places, TensorName tensor, int64_t pitch, DataType type) {
  Params params = commonParams(p, places);
  params.pitchBytes = pitch * bytesOf(type);
  setVectors(params, p.k * bytesOf(type), params.pitchBytes);
  return launchOf(kernel, p.outputPixels() * params.rowVectors.divisor, 1, params, tensor, TensorName::Workspace);
}

class Phases final : public Algorithm {
 public:
  explicit Phases(const InnerSearch& search) : search_(search) {}
  std::string_view name() const override { return kName; }
  std::optional<Accumulation> accumulation() const override { return {}; }
  bool takesTransposed() const override { return true; }
  bool takesReversedTaps() const override { return true; }
  /// The algorithms with kernels that multiply.
  std::span<const OptionDescription> options() const override {
    static const std::string names = algorithmNames(search_.algorithms(), multiplies);
    static const std::array<OptionDescription, 2> known{
        {{"algorithm", names, "which computes every phase; otherwise the best of each"}, kBatchInvariantOption}};
    return known;
  }
  bool isBuiltFor(const device::Properties& properties) const override { return isHopperOrBlackwell(properties); }

  std::string refusal(const Problem& p, const device::Properties& properties) const override {
    if (std::string refused = targetRefusal(kName, properties); !refused.empty()) return refused;
    if (!p.transposed) return "phases is for transposed convolutions, but transposed is 0";
    if (p.inputScale.blockSize != 0 || p.filterScale.blockSize != 0 || p.outputScale.blockSize != 0)
      return "phases takes no block scales";
    for (const auto& [name, type] :
         {std::pair{"filter_type", p.filterType}, {"output_type", p.outputType}, {"residual_type", p.residualType}})
      if (bitsOf(type) < 8) return fmt::format("phases moves whole bytes, but {} is {}", name, nameOf(type));
    if (phaseCount(p) > kMostPhases)
      return fmt::format("phases needs stride_d * stride_h * stride_w up to {}, but they are {}, {} and {}", kMostPhases, p.strideD,
                         p.strideH, p.strideW);
    constexpr int64_t kMostVectors = int64_t{1} << 31;  // of a launch, a thread each
    const int64_t residualBytes = p.hasResidual() ? bytesOf(p.residualType) : 0;
    if (p.outputPixels() >= kMostVectors / (p.k * std::max<int64_t>(bytesOf(p.outputType), residualBytes)) ||
        p.k * p.t * p.r * p.s >= kMostVectors / rowBytes(p))
      return "phases needs an output and a filter below 2^31 bytes";
    const std::vector<PlannedPhase> phases = phasesOf(p);
    const auto inexact =
        std::find_if(phases.begin(), phases.end(), [](const PlannedPhase& one) { return one.exists() && !one.isExact(); });
    if ((p.hasAmax || p.hasResidual()) && inexact != phases.end())
      return fmt::format(
          "phases computes outputs beyond those of the convolution for this filter, stride and padding, which {} forbids",
          p.hasAmax ? "amax" : "a residual");
    Inner inner;
    if (Status status = read({}, inner); !status.ok()) return status.message();
    for (size_t i = 0; i < phases.size(); ++i) {
      if (!isFirst(phases, i)) continue;
      const Problem& one = phases[i].problem;
      if (Status status = validate(one); !status.ok()) return fmt::format("phases: {}", status.message());
      if (one.outputPixels() >= kMostVectors / one.k) return "phases needs fewer than 2^31 outputs of a phase";
      if (std::none_of(inner.algorithms.begin(), inner.algorithms.end(), [&](const Algorithm* algorithm) {
            return algorithm->isBuiltFor(properties) && algorithm->refusal(one, properties).empty();
          }))
        return fmt::format("phases needs an algorithm other than direct for {}", shiftconv::describe(one));
    }
    return {};
  }

  Status candidates(const Problem& p, const device::Properties& properties, std::string_view options,
                    std::vector<Candidate>& candidates) const override {
    Inner inner;
    if (Status status = read(options, inner); !status.ok()) return status;
    Made made{phasesOf(p), {}, std::string(options)};
    const std::vector<PlannedPhase>& phases = made.phases;
    std::vector<Candidate>& best = made.best;
    best.resize(phases.size());
    Candidate all{this, {}, {}};
    double slowest = 0;
    for (size_t i = 0; i < phases.size(); ++i) {
      if (!phases[i].exists()) continue;
      if (isFirst(phases, i))
        if (Status status = search_.bestAmong(inner.algorithms, phases[i].problem, properties, inner.isBatchInvariant, best[i]);
            !status.ok())
          return status;
      const Candidate& one = best[phases[i].sameAs];
      all.estimate.clocks += one.estimate.clocks;
      all.estimate.seconds += one.estimate.seconds;
      all.estimate.flops += one.estimate.flops;
      if (one.estimate.seconds > slowest) slowest = one.estimate.seconds, all.estimate.bound = one.estimate.bound;
      for (const std::string_view question : one.unproven)
        if (std::find(all.unproven.begin(), all.unproven.end(), question) == all.unproven.end()) all.unproven.push_back(question);
    }
    all.estimate.bytes = bytesOnce(p);
    const Rates& rates = ratesOf(properties);
    const auto bytes = tensorBytes(p);
    const auto moved =
        static_cast<double>(2 * (bytes[TensorName::Filter] + bytes[TensorName::Output] + bytes[TensorName::Residual]));
    const double clocks = moved / rates.of(Resource::DeviceMemory) + rates.launchClocks.perClock * (p.hasResidual() ? 3 : 2);
    all.estimate.clocks += clocks;
    all.estimate.seconds += clocks / rates.clockHertz.perClock;
    candidates.push_back(std::move(all));
    setPlans(candidates, candidates.size() - 1,
             std::make_shared<TypedPlans<Made>>(std::vector<Made>{std::move(made)}, complete,
                                                [](const Made& one) { return one.options; }));
    return {};
  }

 private:
  struct Made {
    std::vector<PlannedPhase> phases;
    std::vector<Candidate> best;  ///< of a phase that is the first of its kind
    std::string options;
  };

  Status read(std::string_view text, Inner& inner) const {
    std::vector<const Algorithm*>& algorithms = inner.algorithms;
    OptionValues values;
    if (Status status = OptionValues::parse(text, options(), values); !status.ok()) return status;
    if (Status status = readBatchInvariant(values, inner.isBatchInvariant); !status.ok()) return status;
    for (const Algorithm* one : search_.algorithms())
      if (!one->takesTransposed()) algorithms.push_back(one);
    const std::optional<std::string_view> name = values.find("algorithm");
    if (!name) return {};
    const Algorithm* found = nullptr;
    if (Status status = search_.find(*name, found); !status.ok()) return status;
    if (found == this) return {StatusCode::InvalidArgument, "phases: option algorithm must be another one"};
    algorithms.assign(1, found);
    return {};
  }

  static Status complete(const Made& chosen, const Problem& p, const device::Properties& properties, Plan& plan) {
    const std::vector<PlannedPhase>& phases = chosen.phases;
    const Places places = placesOf(p, phases);
    std::vector<Plan> made(phases.size());
    int64_t mostFilterThreads = 0;
    size_t scratch = 0;
    for (size_t i = 0; i < phases.size(); ++i) {
      if (!phases[i].exists()) continue;
      const Problem& one = phases[i].problem;
      mostFilterThreads = std::max(mostFilterThreads, one.k * one.t * one.r * one.s);
      if (isFirst(phases, i)) {
        const Candidate& best = chosen.best[i];
        if (Status status = best.complete(one, properties, made[i]); !status.ok()) return status;
        made[i].algorithm = best.algorithm->name(), made[i].options = best.options();
        scratch = std::max(scratch, made[i].workspaceBytes);
        plan.sums.insert(made[i].sums.begin(), made[i].sums.end());
      }
    }
    plan.workspaceBytes = places.bytes + scratch;
    plan.packedBytes = places.packedBytes;

    const Params filter = filterParams(p, places);
    plan.launches.push_back(launchOf("gather_phase_filters", mostFilterThreads * filter.rowVectors.divisor,
                                     static_cast<int64_t>(phases.size()), filter, TensorName::Filter, TensorName::PackedFilter));
    plan.launches.back().packsFilter = true;
    if (p.hasResidual())
      plan.launches.push_back(moveOf("split_into_phases", p, places, TensorName::Residual, p.residualPitch(), p.residualType));
    plan.mainLaunch = plan.launches.size();
    for (size_t i = 0; i < phases.size(); ++i)
      if (phases[i].exists()) addLaunches(phases[i], places, i, made[phases[i].sameAs], plan);
    plan.launches.push_back(moveOf("merge_phases", p, places, TensorName::Output, p.outputPitch(), p.outputType));
    return {};
  }

  /// The launches of a phase, on its tensors in the workspace.
  static void addLaunches(const PlannedPhase& phase, const Places& places, size_t number, const Plan& made, Plan& plan) {
    PerTensor<TensorPlace> moved = placesAsGiven();
    moved[TensorName::Filter] = {TensorName::PackedFilter, places.phases[number].filter};
    moved[TensorName::Output] = {TensorName::Workspace, places.phases[number].output};
    if (phase.problem.hasResidual()) moved[TensorName::Residual] = {TensorName::Workspace, places.phases[number].residual};
    moved[TensorName::Workspace].byteOffset = places.bytes;
    moved[TensorName::PackedFilter] =
        placeInPackedFilter(made.packedBytes, plan);  // phases that share a plan have different filters
    if (plan.details.empty()) plan.mainLaunch += made.mainLaunch;
    for (PlannedLaunch launch : made.launches) {
      relocate(launch, moved);
      plan.launches.push_back(std::move(launch));
    }
    plan.details +=
        fmt::format("phase {:<4} {} {}: {}\n", number, made.algorithm, made.options, shiftconv::describe(phase.problem));
  }

  const InnerSearch& search_;
};

}  // namespace

const Algorithm& phasesAlgorithm(const InnerSearch& search) {
  static const Phases algorithm(search);
  return algorithm;
}

}  // namespace shiftconv::plan
