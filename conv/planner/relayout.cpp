#include "conv/planner/relayout.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <limits>
#include <utility>

#include "common/layout/ceil_divide.hpp"
#include "conv/kernels/transposition_params.hpp"
#include "conv/plan/targets.hpp"
#include "conv/planner/candidates.hpp"
#include "conv/problem/tensors.hpp"
#include "conv/problem/text.hpp"
#include "transposition_image.hpp"

namespace shiftconv::plan {
namespace {

using kernels::transposition::kThreads;
using kernels::transposition::kTile;
using kernels::transposition::Params;

constexpr std::string_view kName = "relayout";
constexpr std::array<OptionDescription, 1> kOptions{
    {{"algorithm",
      "shift_stream, shift_window, halo_sm100, im2col, gemm, halo, grouped, "
      "depthwise, channelwise, stem, resident, im2col_sm90, phases, thin, raw_rows, gathered, direct",
      "which computes the convolution in NHWC; otherwise the best"}}};
constexpr size_t kAlignment = 256;
constexpr double kLaunchClocks = 2600;  // of a kernel that only moves: 1.3 us on an H200

/// A tensor that lies in NCHW: `images` matrices of channels x pixels.
struct Moved {
  const char* name;
  TensorName tensor;
  DataType type;
  int64_t images, pixels, channels;
  bool isRead;

  int64_t tiles() const { return images * ceilDivide(pixels, int64_t{kTile}) * ceilDivide(channels, int64_t{kTile}); }
};

std::vector<Moved> movedTensors(const Problem& p) {
  std::vector<Moved> moved;
  if (p.inputLayout == Layout::ChannelsFirst)
    moved.push_back({"the input", TensorName::Input, p.inputType, p.n, p.inputPixels() / p.n, p.c, true});
  if (p.outputLayout == Layout::ChannelsFirst) {
    if (p.hasResidual())
      moved.push_back({"the residual", TensorName::Residual, p.residualType, p.n, p.outputPixels() / p.n, p.k, true});
    moved.push_back({"the output", TensorName::Output, p.outputType, p.n, p.outputPixels() / p.n, p.k, false});
  }
  return moved;
}

Problem inChannelsLast(const Problem& p) {
  Problem inner = p;
  inner.inputLayout = inner.outputLayout = Layout::ChannelsLast;
  return inner;
}

/// What the planner would take for the convolution in NHWC.
Status bestFor(const Problem& p, const device::Properties& properties, std::string_view options, Candidate& best) {
  OptionValues values;
  if (Status status = OptionValues::parse(options, kOptions, values); !status.ok()) return status;
  PlanOptions asked;
  asked.algorithm = values.find("algorithm").value_or("");
  if (asked.algorithm == kName) return {StatusCode::InvalidArgument, "relayout: option algorithm must be another one"};
  Candidates candidates;
  if (Status status = findCandidates(inChannelsLast(p), properties, asked, candidates, RefusalTexts::LeftOut); !status.ok())
    return status;
  best = std::move(candidates.all[candidates.best]);
  return {};
}

PlannedLaunch launchOf(const Moved& moved, TensorPlace inWorkspace) {
  const auto number = [](int64_t value) { return static_cast<uint32_t>(value); };
  Params params;
  params.rows = number(moved.isRead ? moved.channels : moved.pixels);
  params.columns = number(moved.isRead ? moved.pixels : moved.channels);
  params.elementBytes = bytesOf(moved.type);
  params.columnTiles = layout::FastDivisor(number(ceilDivide(int64_t{params.columns}, int64_t{kTile})));
  params.imageTiles = layout::FastDivisor(number(moved.tiles() / moved.images));
  const TensorPlace asGiven{moved.tensor};
  Parameter parameter = Parameter::value(params);
  parameter.address(offsetof(Params, source), moved.isRead ? asGiven : inWorkspace)
      .address(offsetof(Params, destination), moved.isRead ? inWorkspace : asGiven);
  PlannedLaunch launch;
  launch.image = images::transposition();
  launch.kernel = "transpose_matrices";
  launch.config.grid = {number(moved.tiles()), 1, 1};
  launch.config.block = {kThreads, 1, 1};
  launch.parameters.push_back(std::move(parameter));
  launch.warpRoles.assign(kThreads / 32, "move");
  return launch;
}

class Relayout final : public Algorithm {
 public:
  std::string_view name() const override { return kName; }
  bool takesTransposed() const override { return true; }
  bool takesUpsampled() const override { return true; }
  bool takesChannelsFirst() const override { return true; }
  std::span<const OptionDescription> options() const override { return kOptions; }
  bool isBuiltFor(const device::Properties& properties) const override { return isHopperOrBlackwell(properties); }

  std::string refusal(const Problem& p, const device::Properties& properties) const override {
    if (std::string refused = targetRefusal(kName, properties); !refused.empty()) return refused;
    if (!p.hasChannelsFirst()) return "relayout is for tensors in NCHW, but input_layout and output_layout are NHWC (0)";
    for (const Moved& moved : movedTensors(p))
      if (moved.tiles() > std::numeric_limits<int32_t>::max())
        return fmt::format("relayout needs fewer than 2^31 tiles of 32 pixels x 32 channels, but {} has {}", moved.name,
                           moved.tiles());
    Candidate best;
    if (Status status = bestFor(p, properties, {}, best); !status.ok())
      return fmt::format("relayout needs an algorithm for NHWC: {}", status.message());
    return {};
  }

  Status candidates(const Problem& p, const device::Properties& properties, std::string_view options,
                    std::vector<Candidate>& candidates) const override {
    Candidate best;
    if (Status status = bestFor(p, properties, options, best); !status.ok()) return status;
    const Rates& rates = ratesOf(properties);
    const auto bytes = tensorBytes(p);
    double clocks = 0;
    for (const Moved& moved : movedTensors(p))
      clocks += kLaunchClocks + 2 * static_cast<double>(bytes[moved.tensor]) / rates.of(Resource::DeviceMemory);
    Candidate all{this, best.estimate, best.unproven};
    all.estimate.clocks += clocks;
    all.estimate.seconds += clocks / rates.clockHertz.perClock;
    candidates.push_back(std::move(all));
    setPlans(candidates, candidates.size() - 1,
             std::make_shared<TypedPlans<Made>>(std::vector<Made>{{std::move(best), std::string(options)}}, complete,
                                                [](const Made& one) { return one.options; }));
    return {};
  }

 private:
  struct Made {
    Candidate best;  ///< for the convolution in NHWC
    std::string options;
  };

  static Status complete(const Made& chosen, const Problem& p, const device::Properties& properties, Plan& plan) {
    const Candidate& best = chosen.best;
    const Problem inner = inChannelsLast(p);
    Plan made;
    if (Status status = best.plans->complete(best.number, inner, properties, made); !status.ok()) return status;

    PerTensor<TensorPlace> places;
    for (size_t i = 0; i < kTensors; ++i) places.values[i] = {static_cast<TensorName>(i), 0};
    const auto bytes = tensorBytes(p);
    std::vector<PlannedLaunch> behind;
    for (const Moved& moved : movedTensors(p)) {
      places[moved.tensor] = {TensorName::Workspace, plan.workspaceBytes};
      (moved.isRead ? plan.launches : behind).push_back(launchOf(moved, places[moved.tensor]));
      plan.details += fmt::format("moves      {}: {} bytes of workspace\n", moved.name, bytes[moved.tensor]);
      plan.workspaceBytes += (bytes[moved.tensor] + kAlignment - 1) / kAlignment * kAlignment;
    }
    places[TensorName::Workspace].byteOffset = plan.workspaceBytes;
    plan.workspaceBytes += made.workspaceBytes;
    plan.mainLaunch = plan.launches.size() + made.mainLaunch;
    for (PlannedLaunch& launch : made.launches) {
      for (Parameter& parameter : launch.parameters) parameter.relocate(places);
      plan.launches.push_back(std::move(launch));
    }
    plan.launches.insert(plan.launches.end(), behind.begin(), behind.end());
    plan.traffic = made.traffic;
    plan.details += fmt::format("in NHWC    {} {}\n{}", best.algorithm->name(), best.options(), made.details);
    return {};
  }
};

}  // namespace

const Algorithm& relayoutAlgorithm() {
  static const Relayout algorithm;
  return algorithm;
}

}  // namespace shiftconv::plan
