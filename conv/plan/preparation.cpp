#include "conv/plan/preparation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "common/layout/ceil_divide.hpp"
#include "conv/kernels/zeroed_words_params.hpp"
#include "conv/plan/epilogue.hpp"
#include "conv/plan/input_parts.hpp"
#include "preparation_image.hpp"

namespace shiftconv::plan {
namespace {

using kernels::ZeroPointAxis;
using kernels::ZeroPointParams;

constexpr size_t kPlaceAlignment = 256;

ZeroPointAxis axisOf(int64_t stored, int64_t upsample, int64_t positions, int64_t taps, int64_t stride, int64_t dilation,
                     int64_t before) {
  const int64_t extent = stored * upsample;
  const auto i = [](int64_t value) { return static_cast<int32_t>(value); };
  ZeroPointAxis axis{i(extent), i(positions), i(taps), i(stride), i(dilation), i(before), 0, 0, i(upsample)};
  const int64_t leading = std::min(positions, ceilDivide(before, stride));
  // The first position whose last tap lies behind the image.
  const int64_t behind = std::max<int64_t>(0, extent + before - (taps - 1) * dilation);
  axis.leading = i(leading);
  axis.trailing = i(positions - std::clamp(ceilDivide(behind, stride), leading, positions));
  return axis;
}

ZeroPointParams paramsOf(const Problem& p) {
  ZeroPointParams params;
  std::ranges::copy(inputParts(p), params.parts);
  params.inputIsSigned = p.inputType == DataType::S8;
  params.filterIsSigned = p.filterType == DataType::S8;
  params.channels = static_cast<int32_t>(p.groupChannels());
  params.filters = static_cast<int32_t>(p.k);
  params.pixels = static_cast<int32_t>(p.outputPixels());
  params.x = axisOf(p.w, p.upsampleW, p.q(), p.s, p.strideW, p.dilationW, p.padLeft);
  params.y = axisOf(p.h, p.upsampleH, p.p(), p.r, p.strideH, p.dilationH, p.padTop);
  params.z = axisOf(p.d, p.upsampleD, p.z(), p.t, p.strideD, p.dilationD, p.padFront);
  params.inputZeroPoint = p.inputZeroPoint;
  params.filterZeroPoint = p.filterZeroPoint;
  params.correctionPitch = epilogueOf(p).correctionPitch;
  return params;
}

/// Beyond the limit: some number beyond it.
int64_t classesOf(const ZeroPointParams& params) {
  const auto most = [](const ZeroPointAxis& axis) {
    return std::min<int64_t>(axis.classes(), kernels::kZeroPointMaximumClasses + 1);
  };
  return most(params.x) * most(params.y) * most(params.z);
}

PlannedLaunch launchOf(const char* kernel, int64_t ctas, Parameter parameter) {
  PlannedLaunch launch;
  launch.image = images::preparation();
  launch.kernel = kernel;
  launch.config.grid = {static_cast<uint32_t>(ctas), 1, 1};
  launch.config.block = {kernels::kZeroPointThreads, 1, 1};
  launch.parameters.push_back(std::move(parameter));
  for (uint32_t warp = 0; warp < kernels::kZeroPointThreads / 32; ++warp)
    launch.warpRoles.push_back(fmt::format("preparation {}", warp));
  return launch;
}

}  // namespace

CorrectionPlaces correctionPlaces(const Problem& p) {
  CorrectionPlaces places;
  places.hasColumns = p.inputZeroPoint != 0;
  places.hasRows = p.filterZeroPoint != 0;
  const auto take = [](bool exists, int64_t elements, size_t& bytes) {
    const size_t offset = bytes, taken = exists ? static_cast<size_t>(elements) * sizeof(int32_t) : 0;
    bytes += (taken + kPlaceAlignment - 1) / kPlaceAlignment * kPlaceAlignment;
    return offset;
  };
  take(places.hasColumns, classesOf(paramsOf(p)) * epilogueOf(p).correctionPitch, places.packedBytes);
  places.rowClass = take(places.hasColumns, p.outputPixels(), places.bytes);
  places.rowCorrection = take(places.hasRows, p.outputPixels(), places.bytes);
  return places;
}

std::string zeroPointRefusal(std::string_view algorithm, const Problem& p) {
  if (p.filterZeroPoint != 0 && p.groups != 1)
    return fmt::format("{} needs groups = 1 with filter_zero_point, but it is {}", algorithm, p.groups);
  if (p.inputZeroPoint == 0) return {};
  if (const int64_t taps = p.t * p.r * p.s; taps > kernels::kZeroPointMaximumTaps)
    return fmt::format("{} needs at most {} taps T*R*S with input_zero_point, but they are {}", algorithm,
                       kernels::kZeroPointMaximumTaps, taps);
  if (const int64_t classes = classesOf(paramsOf(p)); classes > kernels::kZeroPointMaximumClasses)
    return fmt::format("{} needs at most {} kinds of borders with input_zero_point, but paddings and strides make {}", algorithm,
                       kernels::kZeroPointMaximumClasses, classes);
  return {};
}

void bindCorrections(const Problem& p, Parameter& parameter, size_t offset) {
  using gemm::EpilogueParams;
  const CorrectionPlaces places = correctionPlaces(p);
  if (places.hasColumns)
    parameter.address(offset + offsetof(EpilogueParams, columnCorrection), {TensorName::PackedFilter})
        .address(offset + offsetof(EpilogueParams, rowClass), {TensorName::Workspace, places.rowClass});
  if (places.hasRows)
    parameter.address(offset + offsetof(EpilogueParams, rowCorrection), {TensorName::Workspace, places.rowCorrection});
}

PlannedLaunch zeroedWords(TensorPlace place, uint64_t words) {
  kernels::ZeroedWordsParams params;
  params.count = static_cast<uint32_t>(words);
  Parameter values = Parameter::value(params);
  values.address(offsetof(kernels::ZeroedWordsParams, words), place);
  return launchOf("prepare_zeroed_words", ceilDivide(static_cast<int64_t>(words), kernels::kZeroPointThreads), std::move(values));
}

void addPreparation(const Problem& p, Plan& plan) {
  const CorrectionPlaces places = correctionPlaces(p);
  plan.workspaceBytes = places.bytes;
  plan.packedBytes = places.packedBytes;
  Parameter columns = Parameter::value(paramsOf(p)), rows = columns;
  if (places.hasColumns) {
    columns.address(offsetof(ZeroPointParams, filter), {TensorName::Filter})
        .address(offsetof(ZeroPointParams, columnCorrection), {TensorName::PackedFilter});
    PlannedLaunch launch = launchOf("prepare_column_corrections", p.k, std::move(columns));
    launch.packsFilter = true;
    plan.launches.push_back(std::move(launch));
    rows.address(offsetof(ZeroPointParams, rowClass), {TensorName::Workspace, places.rowClass});
  }
  if (places.hasRows) {
    bindInputParts(p, rows, offsetof(ZeroPointParams, parts));
    rows.address(offsetof(ZeroPointParams, rowCorrection), {TensorName::Workspace, places.rowCorrection});
  }
  if (places.hasColumns || places.hasRows)
    plan.launches.push_back(
        launchOf("prepare_row_corrections", ceilDivide(p.outputPixels(), kernels::kZeroPointThreads / 32), std::move(rows)));
}

}  // namespace shiftconv::plan
