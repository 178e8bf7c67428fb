#include "conv/algorithms/direct/algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>

#include "common/layout/ceil_divide.hpp"
#include "common/numerics/codec.hpp"
#include "conv/plan/algorithm_rates.hpp"
#include "conv/plan/epilogue.hpp"
#include "conv/plan/input_parts.hpp"
#include "conv/plan/sm100_operands.hpp"
#include "conv/plan/targets.hpp"
#include "direct_image.hpp"

namespace shiftconv::plan {

using namespace kernels::direct;
using namespace rates::direct;
using numerics::NumberType;

namespace {

/// Which operands are multiplied with which.
bool hasKernel(NumberType input, NumberType filter) {
  using enum NumberType;
  const auto among = [&](NumberType a, NumberType b) { return (input == a || input == b) && (filter == a || filter == b); };
  return among(F16, BF16) || among(F32, F32) || among(TF32, TF32) || among(E4M3, E5M2) || among(S8, U8);
}

/// Whole vectors of channels, and one group for the channels of a thread.
bool isVector(const Problem& p) {
  const NumberType type = operandType(p, p.inputType);
  const int64_t elements = vectorBytes(type) * 8 / numerics::storageBits(type);
  const bool second = !p.isSplit() || (p.splitC % elements == 0 && p.secondPitch() % elements == 0);
  return p.groupChannels() % elements == 0 && p.inputPitch() % elements == 0 && second &&
         (p.groups == 1 || (p.k / p.groups) % kColumns == 0);
}

/// Threads of a CTA along the channels: a warp reads neighbouring inputs of small groups, and the same weights otherwise.
uint32_t channelThreads(const Problem& p) {
  constexpr int64_t kSmallGroup = 8, kFewest = 2, kMost = 32;
  const int64_t wanted = p.groups > 1 && p.groupChannels() < kSmallGroup ? kMost : kFewest;
  return static_cast<uint32_t>(std::bit_ceil(static_cast<uint64_t>(std::min(wanted, ceilDivide(p.k, kColumns)))));
}

Axis axis(int64_t stored, int64_t upsample, int64_t taps, int64_t stride, int64_t dilation, int64_t padBefore) {
  return {static_cast<int32_t>(stored * upsample),
          static_cast<int32_t>(taps),
          static_cast<int32_t>(stride),
          static_cast<int32_t>(dilation),
          static_cast<int32_t>(padBefore),
          static_cast<int32_t>(stored),
          layout::FastDivisor(static_cast<uint32_t>(upsample))};
}

}  // namespace

std::string directRefusal(const Problem& p, const device::Properties& properties) {
  if (std::string refused = targetRefusal("direct", properties); !refused.empty()) return refused;
  if (p.inputScale.blockSize != 0 || p.filterScale.blockSize != 0) return "direct takes no block scales";
  if (p.compute == Compute::F16) return "direct sums in f32, but compute is f16";
  if (!hasKernel(operandType(p, p.inputType), operandType(p, p.filterType)))
    return fmt::format(
        "direct multiplies f32 with the same, and f16 and bf16, 8-bit floats or integers with each other, but "
        "input_type and filter_type are {} and {}",
        nameOf(p.inputType), nameOf(p.filterType));
  if (std::string refused = epilogueRefusal("direct", p, kColumns); !refused.empty()) return refused;
  if (const int64_t outputs = p.k / p.groups; p.splitC != 0 && p.groups != 1 && outputs % kColumns != 0)
    return fmt::format("direct needs K / groups to be a multiple of {} with split_c and groups, but it is {}", kColumns, outputs);
  // Coordinates are 32-bit, and those of pads negative.
  constexpr int64_t kLimit = int64_t{1} << 29;
  const auto step = [&](int64_t stride) { return p.transposed ? 1 : stride; };  // from output to output
  for (const auto& [name, value] :
       {std::pair{p.upsampleD == 1 ? "D + pad_front" : "D * upsample_d + pad_front", p.imageD() + p.padFront},
        {p.upsampleH == 1 ? "H + pad_top" : "H * upsample_h + pad_top", p.imageH() + p.padTop},
        {p.upsampleW == 1 ? "W + pad_left" : "W * upsample_w + pad_left", p.imageW() + p.padLeft},
        {p.transposed ? "Z" : "Z * stride_d", p.z() * step(p.strideD)},
        {p.transposed ? "P" : "P * stride_h", p.p() * step(p.strideH)},
        {p.transposed ? "Q" : "Q * stride_w", p.q() * step(p.strideW)},
        {"T * dilation_d", p.t * p.dilationD},
        {"R * dilation_h", p.r * p.dilationH},
        {"S * dilation_w", p.s * p.dilationW}})
    if (value > kLimit) return fmt::format("direct needs {} up to 2^29 (32-bit coordinates), but it is {}", name, value);
  constexpr int64_t kMostChannelTiles = 65535;  // gridDim.y
  if (ceilDivide(p.k, kColumns * int64_t{channelThreads(p)}) > kMostChannelTiles)
    return fmt::format("direct needs K up to {}, but it is {}", kMostChannelTiles * kColumns * channelThreads(p), p.k);
  return {};
}

DirectPlan planDirect(const Problem& p, const device::Properties& properties) {
  DirectPlan plan;
  Params& params = plan.params;
  params.depth = axis(p.d, p.upsampleD, p.t, p.strideD, p.dilationD, p.padFront);
  params.height = axis(p.h, p.upsampleH, p.r, p.strideH, p.dilationH, p.padTop);
  params.width = axis(p.w, p.upsampleW, p.s, p.strideW, p.dilationW, p.padLeft);
  const auto divisor = [](int64_t value) { return layout::FastDivisor(static_cast<uint32_t>(value)); };
  params.outputDepth = divisor(p.z());
  params.outputHeight = divisor(p.p());
  params.outputWidth = divisor(p.q());
  params.groupOutputs = divisor(p.k / p.groups);
  params.groupChannels = static_cast<int32_t>(p.groupChannels());
  std::ranges::copy(inputParts(p), params.parts);
  params.partCount = p.isSplit() ? 2 : 1;
  params.inputZeroPoint = p.inputZeroPoint;
  params.filterZeroPoint = p.filterZeroPoint;
  params.channelThreads = channelThreads(p);
  params.transposed = p.transposed;
  params.epilogue = epilogueOf(p);

  const int64_t ctaPixels = int64_t{kThreads} / params.channelThreads * kPixels;
  const int64_t ctaChannels = int64_t{params.channelThreads} * kColumns;
  plan.launch.grid = {static_cast<uint32_t>(ceilDivide(p.outputPixels(), ctaPixels)),
                      static_cast<uint32_t>(ceilDivide(p.k, ctaChannels)), 1};
  plan.launch.block = {kThreads, 1, 1};
  const bool vector = isVector(p);
  plan.kernelName = fmt::format("direct_{}_{}_{}", numerics::name(operandType(p, p.inputType)),
                                numerics::name(operandType(p, p.filterType)), vector ? "vector" : "scalar");

  const double products = static_cast<double>(p.t * p.r * p.s * p.groupChannels()) * static_cast<double>(ctaPixels * ctaChannels);
  const int64_t ctas = int64_t{plan.launch.grid.x} * plan.launch.grid.y;
  const int64_t atOnce = int64_t{std::max<uint32_t>(1, properties.multiprocessors)};
  plan.modelledClocks = kStartClocks + static_cast<double>(ceilDivide(ctas, atOnce)) * products /
                                           (ratesOf(properties).of(Resource::CudaCores) * (vector ? kVectorShare : kScalarShare));
  return plan;
}

std::string DirectPlan::describe() const {
  return fmt::format("{}, {} x {} threads of {} pixels x {} channels; grid {}x{}; modelled {:.0f} clocks", kernelName,
                     kThreads / params.channelThreads, params.channelThreads, kPixels, kColumns, launch.grid.x, launch.grid.y,
                     modelledClocks);
}

namespace {

class Direct final : public Algorithm {
 public:
  std::string_view name() const override { return "direct"; }
  std::optional<Accumulation> accumulation() const override { return Accumulation::FusedMultiplyAdd; }
  bool isLastResort() const override { return true; }
  bool takesTransposed() const override { return true; }
  bool takesUpsampled() const override { return true; }
  bool takesSplit() const override { return true; }
  std::span<const OptionDescription> options() const override { return {&kDependentOption, 1}; }
  bool isBuiltFor(const device::Properties& properties) const override { return isHopperOrBlackwell(properties); }
  std::string refusal(const Problem& problem, const device::Properties& properties) const override {
    return directRefusal(problem, properties);
  }

  Status candidates(const Problem& problem, const device::Properties& properties, std::string_view options,
                    std::vector<Candidate>& candidates) const override {
    bool dependent = true;
    if (Status status = readDependent(options, dependent); !status.ok()) return status;
    DirectPlan made = planDirect(problem, properties);
    made.launch.programmaticDependent = dependent;
    candidates.push_back({this, estimate(problem, ratesOf(properties), made.modelledClocks, Resource::CudaCores), {}});
    setPlans(
        candidates, candidates.size() - 1,
        std::make_shared<TypedPlans<DirectPlan>>(std::vector<DirectPlan>{std::move(made)}, complete, dependentOption<DirectPlan>));
    return {};
  }

 private:
  static Status complete(const DirectPlan& made, const Problem& problem, const device::Properties&, Plan& plan) {
    Parameter params = Parameter::value(made.params);
    bindInputParts(problem, params, offsetof(Params, parts));
    params.address(offsetof(Params, filter), {TensorName::Filter});
    bindEpilogue(params, offsetof(Params, epilogue));
    plan.launches.push_back(
        {images::direct(), made.kernelName, made.launch, {std::move(params)}, std::vector<std::string>(kThreads / 32, "multiply")});
    plan.details = made.describe() + "\n";
    return {};
  }
};

}  // namespace

const Algorithm& directAlgorithm() {
  static const Direct algorithm;
  return algorithm;
}

}  // namespace shiftconv::plan
