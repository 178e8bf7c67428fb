#include "conv/algorithms/phases/moves.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "common/layout/ceil_divide.hpp"
#include "phases_image.hpp"

namespace shiftconv::plan::phases {
namespace {

using kernels::phases::kThreads;
using kernels::phases::Params;
using kernels::phases::PhasePlace;
using kernels::phases::RepeatParams;

constexpr size_t kAlignment = 256;

uint64_t take(int64_t taken, size_t& bytes) {
  const size_t place = bytes;
  bytes += (static_cast<size_t>(taken) + kAlignment - 1) / kAlignment * kAlignment;
  return place;
}

int64_t rowBytes(const Problem& p) { return p.groupChannels() * bytesOf(p.filterType); }

layout::FastDivisor divisor(int64_t value) { return layout::FastDivisor(static_cast<uint32_t>(value)); }

void setVectors(Params& params, int64_t bytes, int64_t pitch) {
  params.vectorBytes = vectorBytes(bytes, pitch);
  params.rowVectors = divisor(bytes / params.vectorBytes);
}

template <class LaunchParams>
PlannedLaunch launchOf(const char* kernel, int64_t threads, int64_t gridY, const LaunchParams& params, TensorName tensor,
                       TensorName workspace) {
  PlannedLaunch launch;
  launch.image = images::phases();
  launch.kernel = kernel;
  launch.config.grid = {static_cast<uint32_t>(ceilDivide(threads, int64_t{kThreads})), static_cast<uint32_t>(gridY), 1};
  launch.config.block = {kThreads, 1, 1};
  Parameter parameter = Parameter::value(params);
  parameter.address(offsetof(LaunchParams, tensor), {tensor}).address(offsetof(LaunchParams, workspace), {workspace});
  launch.parameters.push_back(std::move(parameter));
  launch.warpRoles.assign(kThreads / 32, "move");
  return launch;
}

void repeatNumbers(const Problem& p, int64_t channels, Places& places) {
  if (p.hasBias) places.bias = take(channels * bytesOf(p.biasType), places.bytes);
  if (p.hasChannelScale) places.channelScale = take(channels * bytesOf(DataType::F32), places.bytes);
}

}  // namespace

int32_t vectorBytes(int64_t bytes, int64_t pitch) { return static_cast<int32_t>(std::gcd(std::gcd(bytes, pitch), int64_t{16})); }

Places placesApart(const Problem& p, const std::vector<Phase>& phases) {
  Places places;
  for (const Phase& phase : phases) {
    PhasePlace& place = places.phases.emplace_back();
    if (!phase.exists()) continue;
    const Problem& one = phase.problem;
    place.filter = take(one.k * one.taps() * rowBytes(one), places.packedBytes);
    place.output = take(one.outputPixels() * one.k * bytesOf(one.outputType), places.bytes);
    if (p.hasResidual()) place.residual = take(one.outputPixels() * one.k * bytesOf(one.residualType), places.bytes);
  }
  return places;
}

Places placesDirect(const Problem& p, const std::vector<Phase>& phases) {
  Places places;
  for (const Phase& phase : phases) {
    const auto [z, y, x] = phase.rests;
    const int64_t pixel = (z * p.p() + y) * p.q() + x;
    PhasePlace& place = places.phases.emplace_back();
    place.output = static_cast<uint64_t>(pixel * p.outputPitch() * bytesOf(p.outputType));
    if (p.hasResidual()) place.residual = static_cast<uint64_t>(pixel * p.residualPitch() * bytesOf(p.residualType));
  }
  return places;
}

Places placesOfRows(const Problem& p, const Rows& rows) {
  Places places = placesDirect(p, rows.phases);
  int64_t channels = 0;
  for (size_t i = 0; i < rows.phases.size(); ++i) {
    const Problem& one = rows.phases[i].problem;
    channels = one.k;
    if (rows.phases[i].exists()) places.phases[i].filter = take(one.k * one.taps() * rowBytes(one), places.packedBytes);
  }
  repeatNumbers(p, channels, places);
  return places;
}

Places placesUnited(const Problem& p, const United& united) {
  Places places;
  const Problem& one = united.problem;
  PhasePlace& first = places.phases.emplace_back();
  first.filter = take(one.k * one.taps() * rowBytes(one), places.packedBytes);
  places.step.filter = static_cast<uint64_t>(p.k * one.taps() * rowBytes(one));
  if (!united.writesOutput) {
    first.output = take(one.outputPixels() * one.k * bytesOf(one.outputType), places.bytes);
    places.step.output = static_cast<uint64_t>(p.k * bytesOf(one.outputType));
    if (p.hasResidual()) {
      first.residual = take(one.outputPixels() * one.k * bytesOf(one.residualType), places.bytes);
      places.step.residual = static_cast<uint64_t>(p.k * bytesOf(one.residualType));
    }
  }
  repeatNumbers(p, one.k, places);
  return places;
}

Moves::Moves(const Problem& p) : p_(p), pixelPitch_(p.k) {
  const int64_t strides[kAxes] = {p.strideD, p.strideH, p.strideW};
  std::transform(strides, strides + kAxes, common_.stride, [](int64_t stride) { return static_cast<int32_t>(stride); });
  common_.outputDepth = divisor(p.z());
  common_.outputHeight = divisor(p.p());
  common_.outputWidth = divisor(p.q());
  common_.pixels = static_cast<uint32_t>(p.outputPixels());
}

/// Of a flipped filter the taps are counted from its end; gatherFilters() turns their steps around.
int32_t Moves::firstTap(size_t axis, const AxisPhase& own) const {
  const int64_t filterTaps[kAxes] = {p_.t, p_.r, p_.s};
  return static_cast<int32_t>(p_.filterFlipped ? filterTaps[axis] - 1 - own.firstTap : own.firstTap);
}

void Moves::tell(size_t axis, int64_t rest, const AxisPhase& own) {
  auto& told = common_.axis[axis][rest];
  told.own = static_cast<int32_t>(own.taps);
  told.taps = std::max<int32_t>(1, told.own);
  told.firstTap = firstTap(axis, own);
  told.extent = static_cast<int32_t>(own.computed);
  told.skip = static_cast<int32_t>(own.skip);
}

void Moves::tell(size_t axis, const UnitedAxis& all) {
  for (size_t rest = 0; rest < all.phases.size(); ++rest) {
    const AxisPhase& own = all.phases[rest];
    auto& told = common_.axis[axis][rest];
    told.taps = static_cast<int32_t>(all.taps);
    told.own = static_cast<int32_t>(own.taps);
    told.before = static_cast<int32_t>(own.taps == 0 ? 0 : all.before[rest]);
    told.firstTap = firstTap(axis, own);
    told.extent = static_cast<int32_t>(all.outputs);
  }
}

Moves::Moves(const Problem& p, const std::vector<Phase>& phases, const Places& places) : Moves(p) {
  std::copy(places.phases.begin(), places.phases.end(), common_.place);
  for (const Phase& phase : phases)
    for (size_t axis = 0; phase.exists() && axis < kAxes; ++axis) tell(axis, phase.rests[axis], phase.axes[axis]);
}

Moves::Moves(const Problem& p, const Rows& rows, const Places& places) : Moves(p) {
  pixelPitch_ = p.strideW * p.k;
  tell(2, rows.width);
  for (size_t i = 0; i < rows.phases.size(); ++i) {
    const Phase& phase = rows.phases[i];
    for (size_t axis = 0; phase.exists() && axis < 2; ++axis) tell(axis, phase.rests[axis], phase.axes[axis]);
    for (int64_t x = 0; x < p.strideW; ++x) {
      PhasePlace& place = common_.place[static_cast<int64_t>(i) * p.strideW + x];
      place.filter = places.phases[i].filter + static_cast<uint64_t>(x * p.k * phase.problem.taps() * rowBytes(p));
    }
  }
}

Moves::Moves(const Problem& p, const United& united, const Places& places) : Moves(p) {
  common_.isUnited = true;
  common_.place[0] = places.phases.front();
  common_.step = places.step;
  pixelPitch_ = united.problem.k;
  for (size_t axis = 0; axis < kAxes; ++axis) tell(axis, united.axes[axis]);
}

PlannedLaunch Moves::gatherFilters() const {
  Params params = common_;
  const int64_t taps[kAxes] = {p_.t, p_.r, p_.s}, strides[kAxes] = {p_.strideD, p_.strideH, p_.strideW},
                dilations[kAxes] = {p_.dilationD, p_.dilationH, p_.dilationW};
  int64_t most = 1, phases = 1;
  for (int axis = 0; axis < kAxes; ++axis) {
    params.filterTaps[axis] = static_cast<int32_t>(taps[axis]);
    const int64_t step = strides[axis] / std::gcd(strides[axis], dilations[axis]);
    params.tapStep[axis] = static_cast<int32_t>(p_.filterFlipped ? -step : step);
    int32_t longest = 0;
    for (int64_t rest = 0; rest < strides[axis]; ++rest) longest = std::max(longest, params.axis[axis][rest].taps);
    most *= longest, phases *= strides[axis];
  }
  params.filterRows = static_cast<int32_t>(p_.k);
  params.zeros = 0x01010101u * static_cast<uint8_t>(p_.filterZeroPoint);
  setVectors(params, rowBytes(p_), rowBytes(p_));
  PlannedLaunch launch = launchOf("gather_phase_filters", p_.k * most * params.rowVectors.divisor, phases, params,
                                  TensorName::Filter, TensorName::PackedFilter);
  launch.packsFilter = true;
  return launch;
}

PlannedLaunch Moves::splitResidual() const {
  return move("split_into_phases", TensorName::Residual, p_.residualPitch(), p_.residualType);
}
PlannedLaunch Moves::mergeOutputs() const { return move("merge_phases", TensorName::Output, p_.outputPitch(), p_.outputType); }

PlannedLaunch Moves::move(const char* kernel, TensorName tensor, int64_t pitch, DataType type) const {
  Params params = common_;
  params.pitchBytes = pitch * bytesOf(type);
  params.phasePitch = pixelPitch_ * bytesOf(type);
  setVectors(params, p_.k * bytesOf(type), params.pitchBytes);
  return launchOf(kernel, p_.outputPixels() * params.rowVectors.divisor, 1, params, tensor, TensorName::Workspace);
}

PlannedLaunch Moves::repeat(TensorName tensor, DataType type, uint64_t place) const {
  RepeatParams params;
  params.place = place;
  params.channels = divisor(p_.k);
  params.all = static_cast<uint32_t>(pixelPitch_);
  params.bytes = static_cast<int32_t>(bytesOf(type));
  return launchOf("repeat_channels", pixelPitch_, 1, params, tensor, TensorName::Workspace);
}

}  // namespace shiftconv::plan::phases
