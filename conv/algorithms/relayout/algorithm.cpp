#include "conv/algorithms/relayout/algorithm.hpp"

#include <fmt/format.h>

#include <limits>

#include "common/layout/ceil_divide.hpp"
#include "conv/algorithms/relayout/params.hpp"
#include "conv/plan/copying_algorithm.hpp"
#include "conv/plan/inner_plan.hpp"
#include "conv/problem/tensors.hpp"
#include "transposition_image.hpp"

namespace shiftconv::plan {
namespace {

using kernels::transposition::kThreads;
using kernels::transposition::kTile;
using kernels::transposition::Params;

constexpr std::string_view kName = "relayout";

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

PlannedLaunch launchOf(const Moved& moved, TensorPlace inWorkspace) {
  const auto number = [](int64_t value) { return static_cast<uint32_t>(value); };
  Params params;
  params.rows = number(moved.isRead ? moved.channels : moved.pixels);
  params.columns = number(moved.isRead ? moved.pixels : moved.channels);
  params.elementBytes = bytesOf(moved.type);
  params.columnTiles = layout::FastDivisor(number(ceilDivide(int64_t{params.columns}, int64_t{kTile})));
  params.imageTiles = layout::FastDivisor(number(moved.tiles() / moved.images));
  const TensorPlace asGiven{moved.tensor};
  return launchOfCopy(images::transposition(), "transpose_matrices", params, moved.tiles(), kThreads,
                      moved.isRead ? asGiven : inWorkspace, moved.isRead ? inWorkspace : asGiven);
}

class Relayout final : public CopyingAlgorithm {
 public:
  using CopyingAlgorithm::CopyingAlgorithm;
  std::string_view name() const override { return kName; }
  bool takesTransposed() const override { return true; }
  bool takesUpsampled() const override { return true; }
  bool takesChannelsFirst() const override { return true; }
  bool takesSplit() const override { return true; }
  bool takesReversedTaps() const override { return true; }
  /// Every other algorithm.
  std::span<const OptionDescription> options() const override {
    static const std::string names =
        algorithmNames(search().algorithms(), [](const Algorithm& one) { return one.name() != kName; });
    static const auto known = copyingOptions(names, "which computes the convolution in NHWC; otherwise the best");
    return known;
  }

 protected:
  std::string copyingRefusal(const Problem& p, const device::Properties&) const override {
    if (!p.hasChannelsFirst()) return "relayout is for tensors in NCHW, but input_layout and output_layout are NHWC (0)";
    for (const Moved& moved : movedTensors(p))
      if (moved.tiles() > std::numeric_limits<int32_t>::max())
        return fmt::format("relayout needs fewer than 2^31 tiles of 32 pixels x 32 channels, but {} has {}", moved.name,
                           moved.tiles());
    return {};
  }
  std::string_view ofCopies() const override { return "NHWC"; }
  Problem problemOfCopies(const Problem& p) const override { return inChannelsLast(p); }
  Copying copying(const Problem& p) const override {
    const auto bytes = tensorBytes(p);
    Copying copies;
    for (const Moved& moved : movedTensors(p)) copies.bytes += 2 * static_cast<double>(bytes[moved.tensor]), ++copies.launches;
    return copies;
  }
  Status complete(const Candidate& best, const Problem& p, const device::Properties& properties, Plan& plan) const override {
    PerTensor<TensorPlace> places = placesAsGiven();
    const auto bytes = tensorBytes(p);
    std::vector<PlannedLaunch> behind;
    for (const Moved& moved : movedTensors(p)) {
      places[moved.tensor] = placeInWorkspace(bytes[moved.tensor], plan);
      (moved.isRead ? plan.launches : behind).push_back(launchOf(moved, places[moved.tensor]));
      plan.details += fmt::format("moves      {}: {} bytes of workspace\n", moved.name, bytes[moved.tensor]);
    }
    if (Status status = addInner(best, inChannelsLast(p), properties, places, plan); !status.ok()) return status;
    plan.launches.insert(plan.launches.end(), behind.begin(), behind.end());
    return {};
  }
};

}  // namespace

const Algorithm& relayoutAlgorithm(const InnerSearch& search) {
  static const Relayout algorithm(search);
  return algorithm;
}

}  // namespace shiftconv::plan
