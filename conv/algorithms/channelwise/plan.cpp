#include "conv/algorithms/channelwise/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <utility>

#include "common/layout/ceil_divide.hpp"
#include "common/layout/shared_matrix_descriptor.hpp"
#include "conv/algorithms/channelwise/model.hpp"
#include "conv/algorithms/channelwise/stream_shape.hpp"
#include "conv/plan/decoding.hpp"
#include "conv/plan/epilogue.hpp"
#include "conv/plan/fastest_first.hpp"
#include "conv/plan/options.hpp"
#include "conv/plan/plain_segment.hpp"
#include "conv/plan/preparation.hpp"
#include "conv/plan/shared_memory.hpp"
#include "conv/plan/targets.hpp"
#include "conv/plan/tile_widths.hpp"

namespace shiftconv::plan {

using namespace kernels::channelwise;

namespace {

constexpr int64_t kMostInt = std::numeric_limits<int32_t>::max();
constexpr int64_t kStagedBytes = 48 * 1024;    // of weights at most: what a kernel has without asking for more
constexpr int64_t kLeastStreamed = 4'000'000;  // outputs; with fewer, the form Stream is not the fastest (measured on an H200)
constexpr int64_t kRowsBytes = 24 * 1024;      // of filter rows that are staged at once, if they are several: room for more CTAs

int64_t multiplierOf(const Problem& p) { return p.k / p.c; }
int64_t tapsOf(const Problem& p) { return p.t * p.r * p.s; }

int64_t elementBytes(const Problem& p) { return bitsOf(p.inputType) / 8; }

bool mustStage(const Kind& kind) { return kind.isDeep || kind.form == Form::Long || kind.form == Form::Stream; }

int64_t channelWeightBytes(const Problem& p) { return tapsOf(p) * elementBytes(p); }

/// f16 and bf16 with the same, f32 with the same, and 8-bit floats or integers with each other.
bool multiplies(const Problem& p) {
  using enum DataType;
  const auto both = [&](DataType a, DataType b) {
    return (p.inputType == a || p.inputType == b) && (p.filterType == a || p.filterType == b);
  };
  return both(F16, F16) || both(BF16, BF16) || both(F32, F32) || both(E4M3, E5M2) || both(S8, U8);
}
/// The kernels that know a few filters take one type of 8-bit floats.
bool isPlain(const Problem& p) {
  return hasPlainSumsOfHalves(p) || ((isPlainBytes(p) || isPlainHalves(p)) &&
                                     (isInteger(p.inputType) || (p.inputType == p.filterType && p.inputType == DataType::E4M3)));
}

constexpr int64_t kLimit = int64_t{1} << 29;  // 32-bit coordinates and distances in bytes, and some of them added

/// Whether a thread has outputs of an axis that lie the dilation apart and so share pixels, `pixels` from tap to tap: there are two
/// at least, and its distances are 32-bit.
bool sharesPixels(int64_t outputs, int64_t stride, int64_t taps, int64_t dilation, int64_t pixels, const Problem& p) {
  constexpr int64_t kMostOfThread = 16;
  const bool hasTwo = taps == 1 || dilation == 1 || outputs / 2 >= dilation;
  const int64_t apart = taps == 1 ? 1 : dilation;
  return stride == 1 && hasTwo && kMostOfThread * apart * pixels * p.inputPitch() * elementBytes(p) <= kLimit;
}
bool slides(const Problem& p) { return sharesPixels(p.q(), p.strideW, p.s, p.dilationW, 1, p); }
bool slidesDown(const Problem& p) { return sharesPixels(p.p(), p.strideH, p.r, p.dilationH, p.w, p); }
/// Whether a plane's outputs have the places of its pixels, so that the plane is one row of them.
bool isOneRow(const Problem& p) {
  return p.r == 1 && p.s == 1 && p.p() == p.h && p.q() == p.w && p.padTop == 0 && p.padLeft == 0 && p.strideH == 1 &&
         p.strideW == 1 && p.h * p.w <= kLimit;
}
/// Whether the depth is the only axis that has a filter, and its outputs share pixels: then the others are one.
bool isAlongDepth(const Problem& p) {
  return p.t > 1 && isOneRow(p) && sharesPixels(p.z(), p.strideD, p.t, p.dilationD, p.h * p.w, p);
}

/// The axis along which a window of pixels slides in kernels of any filter.
enum class Sliding { None, Across, Down, Depth };
Sliding slidingOf(const Problem& p) {
  if (isAlongDepth(p)) return Sliding::Depth;
  if (p.s == 1 && p.r > 1 && slidesDown(p)) return Sliding::Down;
  return slides(p) ? Sliding::Across : Sliding::None;
}
bool hasLongRows(const Problem& p) {
  constexpr int64_t kManyTaps = 8;
  const Sliding sliding = slidingOf(p);
  return sliding != Sliding::None && (sliding == Sliding::Depth ? p.t : sliding == Sliding::Down ? p.r : p.s) >= kManyTaps;
}
bool isDilated(const Problem& p) { return p.dilationH != 1 || p.dilationW != 1; }

/// Whether the kernel computes the problem, but for its Finish.
bool computes(const Kind& kind, const Problem& p) {
  if (kind.elementBytes != elementBytes(p)) return false;
  // Of 8 bits the form General with the whole epilogue takes any types, and zero points.
  const bool takesAny = kind.finish == Finish::Full && kind.form == Form::General;
  if (kind.elementBytes == 1 && !takesAny &&
      !(kind.isInteger ? isInteger(p.inputType) && p.inputZeroPoint == 0 && p.filterZeroPoint == 0
                       : p.inputType == DataType::E4M3 && p.filterType == DataType::E4M3))
    return false;
  if (kind.channels > 1 && (multiplierOf(p) != 1 || p.k % kind.channels != 0 || p.inputPitch() % kind.channels != 0)) return false;
  if (p.outputPitch() % kind.channels != 0 || (p.hasResidual() && p.residualPitch() % kind.channels != 0)) return false;
  if (kind.form == Form::General) return true;
  if (kind.form == Form::Long) return hasLongRows(p);
  if (kind.isDeep ? p.t == 1 || channelWeightBytes(p) * kind.channels > kStagedBytes : p.t != 1) return false;
  if (kind.filter == 1 && !isOneRow(p)) return false;
  if (kind.form == Form::Stream && !canStream(p)) return false;
  return p.r == kind.filter && p.s == kind.filter && p.strideW == kind.stride && kind.isDilated == isDilated(p) &&
         (p.dilationW == 1 || slides(p)) &&
         (kind.form == Form::Few || (p.strideH == kind.stride && (p.dilationH == 1 || slidesDown(p))));
}

Axis axisOf(int64_t extent, int64_t taps, int64_t stride, int64_t dilation, int64_t padBefore) {
  return {static_cast<int32_t>(extent), static_cast<int32_t>(taps), static_cast<int32_t>(stride),
          static_cast<int32_t>(taps == 1 ? 1 : dilation), static_cast<int32_t>(padBefore)};
}

/// Units that have all outputs of an axis, `count` each, `step` apart.
int64_t unitsOf(int64_t outputs, int64_t step, int64_t count) { return step * ceilDivide(ceilDivide(outputs, step), count); }

/// The axes, and how pixels lie.
void setAxes(const Problem& p, const Kind& kind, Params& params) {
  params.depth = axisOf(p.d, p.t, p.strideD, p.dilationD, p.padFront);
  params.down = axisOf(p.h, p.r, p.strideH, p.dilationH, p.padTop);
  params.across = axisOf(p.w, p.s, p.strideW, p.dilationW, p.padLeft);
  params.outputsDown = static_cast<int32_t>(p.p()), params.outputsAcross = static_cast<int32_t>(p.q());
  params.gapsDown.pixels = static_cast<int32_t>(p.w), params.gapsDown.outputPixels = static_cast<int32_t>(p.q());
  params.planePixels = p.h * p.w, params.outputPlanePixels = p.p() * p.q();
  int64_t planes = p.z();
  const bool takesAny = kind.form == Form::General || kind.form == Form::Long;
  const Sliding sliding = takesAny ? slidingOf(p) : slides(p) ? Sliding::Across : Sliding::None;
  if (sliding == Sliding::Depth) {
    params.across = std::exchange(params.depth, Axis{});
    params.down = axisOf(p.h * p.w, 1, 1, 1, 0);
    params.outputsAcross = static_cast<int32_t>(std::exchange(planes, 1));
    params.outputsDown = params.down.extent;
    params.gapsAcross.pixels = params.gapsAcross.outputPixels = params.down.extent;
    params.gapsDown.pixels = params.gapsDown.outputPixels = 1;
    params.planePixels *= p.d, params.outputPlanePixels *= p.z();
  } else if (kind.filter == 1) {
    params.across = axisOf(p.h * p.w, 1, 1, 1, 0);
    params.down = axisOf(1, 1, 1, 1, 0);
    params.outputsAcross = params.across.extent, params.outputsDown = 1;
  } else if (sliding == Sliding::Down) {
    std::swap(params.down, params.across);
    std::swap(params.outputsDown, params.outputsAcross);
    std::swap(params.gapsDown, params.gapsAcross);
  }
  params.outputDepth = layout::FastDivisor(static_cast<uint32_t>(planes));
  params.slides = sliding != Sliding::None;
  if (params.slides) params.gapsAcross.step = params.across.dilation;
  if (kind.form == Form::Batch && params.down.stride == 1) params.gapsDown.step = params.down.dilation;
  for (Gaps* gaps : {&params.gapsDown, &params.gapsAcross}) gaps->steps = layout::FastDivisor(static_cast<uint32_t>(gaps->step));
  params.pixelBytes = static_cast<int32_t>(p.inputPitch() * kind.elementBytes);
  params.columnBytes = params.across.dilation * params.gapsAcross.pixels * params.pixelBytes;
  params.rowBytes = int64_t{params.down.dilation} * params.gapsDown.pixels * params.pixelBytes;
  const int64_t outputStep = int64_t{params.gapsAcross.step} * params.gapsAcross.outputPixels;
  params.outputStep = outputStep * params.epilogue.outputPitch, params.residualStep = outputStep * params.epilogue.residualPitch;
}

/// Of those with the fewest idle threads, and pieces of pixels that are whole sectors of memory.
CtaShape ctaShape(const Problem& p, const Kind& kind, int64_t units, int64_t threads) {
  const int64_t channels = kind.channels, all = p.k / channels;
  constexpr int64_t kSector = 32, kLine = 64;  // bytes
  // Weights of a block begin at whole vectors of 16 bytes where those of all channels are whole vectors.
  const int64_t vector = 16 / elementBytes(p), step = p.k % vector == 0 ? std::max<int64_t>(1, vector / channels) : 1;
  CtaShape best;
  double bestScore = 0;
  const int64_t most = kind.isDeep ? std::min(threads, kStagedBytes / (channelWeightBytes(p) * channels)) : threads;
  for (const int64_t own : tileWidths(all, std::min(step, most), most)) {
    const int64_t unitsOfCta = std::min(threads / own, units), used = own * unitsOfCta;
    const int64_t pieceBytes = own * channels * elementBytes(p);
    double score = static_cast<double>(all) / static_cast<double>(ceilDivide(all, own) * own);
    score *= static_cast<double>(used) / static_cast<double>(roundUp(used, 32));
    if (own < all && pieceBytes % kSector != 0) score *= 0.9;
    if (own < all && pieceBytes < kLine) score *= 0.7;
    // Units share their weights, which are more with depth; words are made of them in the time of two products with each.
    if (kind.form == Form::Long)
      score /= 1 + 2.0 / static_cast<double>(unitsOfCta);
    else
      score *= 1 - (kind.isDeep ? 0.5 : 0.05) / static_cast<double>(unitsOfCta);
    if (score > bestScore) bestScore = score, best = {own, unitsOfCta};
  }
  return best;
}

/// Filter rows of the form Long that are staged at once, and their bytes.
int64_t chooseStagedRows(const Kind& kind, int64_t channels, Params& params) {
  const int64_t rowWords = kind.isInteger ? ceilDivide(params.across.taps, kWordBytes) : params.across.taps;
  const int64_t rowBytes =
      rowWords * stagedPitch(static_cast<uint32_t>(channels), static_cast<uint32_t>(kind.channels)) * kWordBytes;
  const int64_t rows = int64_t{params.depth.taps} * params.down.taps, most = std::max<int64_t>(1, kRowsBytes / rowBytes);
  params.stagedRows = static_cast<int32_t>(ceilDivide(rows, ceilDivide(rows, most)));
  params.rowWords = layout::FastDivisor(static_cast<uint32_t>(rowWords));
  params.stagedWords = layout::FastDivisor(static_cast<uint32_t>(params.stagedRows * rowWords));
  return params.stagedRows * rowBytes;
}

/// False where the choices are not to be had.
bool complete(const Problem& p, double bytes, const device::Properties& properties, const Kind& kind, int64_t rows, int64_t threads,
              bool staged, ChannelwisePlan& plan) {
  Params& params = plan.params;
  plan.kind = &kind;
  plan.threads = static_cast<int32_t>(threads);
  const auto divisor = [](int64_t value) { return layout::FastDivisor(static_cast<uint32_t>(value)); };
  params.epilogue = epilogueOf(p);
  setAxes(p, kind, params);
  const bool streamed = kind.form == Form::Stream;
  int64_t columnUnits = unitsOf(params.outputsAcross, params.gapsAcross.step, kind.columns);
  const int64_t rowUnits = unitsOf(params.outputsDown, params.gapsDown.step, rows);
  CtaShape shape;
  if (streamed) {
    // A CTA's units lie in one row, so that those of the last one may be missing.
    shape = streamShape(p, kind, threads);
    if (shape.units == 0) return false;
    columnUnits = roundUp(columnUnits, shape.units);
  }
  const int64_t units = p.n * params.outputDepth.divisor * rowUnits * columnUnits;
  if (!streamed) shape = ctaShape(p, kind, units, threads);
  const int64_t channelBlocks = ceilDivide(p.k / kind.channels, shape.channelThreads);
  const int64_t ctas = ceilDivide(units, shape.units) * channelBlocks;
  int64_t weightBytes = shape.channelThreads * kind.channels * channelWeightBytes(p);
  if (kind.form == Form::Long) weightBytes = chooseStagedRows(kind, shape.channelThreads * kind.channels, params);
  if (ctas > kMostInt || (staged && weightBytes > kStagedBytes)) return false;

  params.columnUnits = divisor(columnUnits);
  params.rowUnits = divisor(rowUnits);
  params.depthTaps = divisor(p.t);
  params.channelBlocks = divisor(channelBlocks);
  params.channelThreads = divisor(shape.channelThreads);
  params.multiplier = divisor(multiplierOf(p));
  params.units = static_cast<int32_t>(units);
  params.ctaUnits = static_cast<int32_t>(shape.units);
  params.rows = static_cast<int32_t>(rows);
  params.weightBytes = staged ? static_cast<uint32_t>(weightBytes) : 0;
  params.hasHalves = isPlainHalves(p);
  params.hasSeparateSteps = p.rounding == Rounding::Separate;
  params.bf16 = p.inputType == DataType::BF16 || (params.hasHalves && p.outputType == DataType::BF16);
  if (!p.addsResidualLast()) params.lean = leanOf(p);
  params.inputs = decodingOf(p, p.inputType);
  params.filters = decodingOf(p, p.filterType);

  plan.launch.grid = {static_cast<uint32_t>(ctas), 1, 1};
  plan.launch.block = {static_cast<uint32_t>(roundUp(shape.channelThreads * shape.units, 32)), 1, 1};
  plan.launch.dynamicSharedBytes = params.weightBytes;
  if (streamed) {
    plan.input = streamMap(p, kind, shape);
    params.boxBytes = plan.input.box[0] * plan.input.box[1] * static_cast<uint32_t>(kind.elementBytes);
    params.stageBytes = roundUp(params.boxBytes, kStageAlignment);
    plan.launch.dynamicSharedBytes += layout::kSwizzle128AtomBytes + kStreamControlBytes + kStages * params.stageBytes;
    if (plan.launch.dynamicSharedBytes > properties.sharedBytesPerBlock) return false;
  }
  modelChannelwise(p, bytes, properties, plan);
  return true;
}

/// Output rows of a thread in the forms Batch and Stream: as many for all as possible.
std::vector<int64_t> rowsOf(const Problem& p, const Kind& kind, const ChannelwiseChoices& choices) {
  if (kind.form != Form::Batch && kind.form != Form::Stream) {
    if (choices.rows && *choices.rows != 1) return {};
    return {1};
  }
  if (choices.rows) return {*choices.rows};
  std::vector<int64_t> all;
  for (const int64_t most : {1, 2, 4, 7, 14, 28, 56, 112}) {
    if (kind.form == Form::Stream ? most < 7 : most > 28 || (!kind.isDeep && most < 4)) continue;
    const int64_t own = ceilDivide(p.p(), p.strideH == 1 ? p.dilationH : 1), rows = ceilDivide(own, ceilDivide(own, most));
    if (std::find(all.begin(), all.end(), rows) == all.end()) all.push_back(rows);
  }
  return all;
}

}  // namespace

std::string channelwiseRefusal(const Problem& p, const device::Properties& properties) {
  if (std::string refused = targetRefusal("channelwise", properties); !refused.empty()) return refused;
  if (p.inputScale.blockSize != 0 || p.filterScale.blockSize != 0) return "channelwise takes no block scales";
  if (!multiplies(p))
    return fmt::format(
        "channelwise multiplies f16, bf16 or f32 with the same, and 8-bit floats or integers with each other, but input_type and "
        "filter_type are {} and {}",
        nameOf(p.inputType), nameOf(p.filterType));
  if (p.compute == Compute::F16) return "channelwise sums in f32, but compute is f16";
  if (isInteger(p.inputType) && tapsOf(p) > mostExactProducts(p))
    return fmt::format("channelwise needs at most {} taps T*R*S of {} and {}, but they are {}", mostExactProducts(p),
                       nameOf(p.inputType), nameOf(p.filterType), tapsOf(p));
  if (std::string refused = zeroPointRefusal("channelwise", p); !refused.empty()) return refused;
  if (p.groups != p.c) return fmt::format("channelwise needs one input channel a group, but C = {} and groups = {}", p.c, p.groups);
  if (std::string refused = epilogueRefusal("channelwise", p, 1); !refused.empty()) return refused;
  // Coordinates and distances within a row are 32-bit, and those of pads negative.
  const int64_t pixelBytes = p.inputPitch() * elementBytes(p);
  for (const auto& [name, value] : {std::pair{"D + pad_front", p.d + p.padFront},
                                    {"H + pad_top", p.h + p.padTop},
                                    {"W + pad_left", p.w + p.padLeft},
                                    {"Z * stride_d", p.z() * p.strideD},
                                    {"P * stride_h", p.p() * p.strideH},
                                    {"Q * stride_w", p.q() * p.strideW},
                                    {"T * dilation_d", p.t * p.dilationD},
                                    {"R * dilation_h", p.r * p.dilationH},
                                    {"S * dilation_w", p.s * p.dilationW},
                                    {"16 input pixels in bytes", 16 * pixelBytes},
                                    {"stride_w input pixels in bytes", p.strideW * pixelBytes},
                                    {"4 * dilation_w input pixels in bytes", 4 * p.dilationW * pixelBytes},
                                    {"the filter in bytes", p.k * tapsOf(p) * elementBytes(p)}})
    if (value > kLimit) return fmt::format("channelwise needs {} up to 2^29 (32-bit coordinates), but it is {}", name, value);
  if (p.outputPixels() * p.k > kMostInt * int64_t{kMostThreads})
    return fmt::format("channelwise needs at most 2^38 outputs, but there are {}", p.outputPixels() * p.k);
  return {};
}

std::vector<ChannelwisePlan> channelwiseCandidates(const Problem& p, const device::Properties& properties,
                                                   const ChannelwiseChoices& choices) {
  std::vector<ChannelwisePlan> plans;
  const double bytes = bytesOnce(p);
  Finish finish = isPlain(p) ? Finish::Plain : Finish::Full;
  const auto fits = [&](const Kind& kind) { return kind.finish == finish && computes(kind, p); };
  if (std::none_of(kKinds.begin(), kKinds.end(), fits)) finish = Finish::Full;
  const bool special = std::any_of(kKinds.begin(), kKinds.end(), [&](const Kind& kind) { return kind.filter != 0 && fits(kind); });
  const bool isSmall = p.outputPixels() * p.k < kLeastStreamed;
  for (const Kind& kind : kKinds) {
    if (!fits(kind)) continue;
    if (choices.form ? *choices.form != kind.form : special && kind.filter == 0) continue;
    if (!choices.form && kind.form == Form::Stream && isSmall) continue;
    if (choices.channels && *choices.channels != kind.channels) continue;
    if (choices.columns && *choices.columns != kind.columns) continue;
    for (const int64_t rows : rowsOf(p, kind, choices))
      for (const int32_t threads : {64, kMostThreads}) {
        if (choices.threads ? *choices.threads != threads : kind.form == Form::Batch && threads != kMostThreads) continue;
        for (const bool staged : {true, false}) {
          if (choices.staged && *choices.staged != staged) continue;
          if (mustStage(kind) && !staged) continue;
          ChannelwisePlan plan;
          if (!complete(p, bytes, properties, kind, rows, threads, staged, plan)) continue;
          plan.launch.programmaticDependent = choices.dependent;
          spreadEvenly(properties, plan.launch);
          plans.push_back(std::move(plan));
        }
      }
  }
  fastestFirst(plans);
  return plans;
}

std::string ChannelwisePlan::options() const {
  return OptionText()
      .add("form", kFormNames[static_cast<size_t>(kind->form)])
      .add("channels", kind->channels)
      .add("columns", kind->columns)
      .add("rows", params.rows)
      .add("threads", threads)
      .add("weights", staged() ? "staged" : "direct")
      .addIf(!launch.programmaticDependent, "dependent", "no")
      .text();
}

std::string ChannelwisePlan::describe() const {
  return fmt::format(
      "{}, {} units x {} threads of {}x{} pixels x {} channels; grid {}, {} bytes of shared memory; modelled {:.0f} clocks\n",
      kind->name, params.ctaUnits, params.channelThreads.divisor, params.rows, kind->columns, kind->channels, launch.grid.x,
      launch.dynamicSharedBytes, modelledClocks);
}

}  // namespace shiftconv::plan
