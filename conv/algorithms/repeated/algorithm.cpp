#include "conv/algorithms/repeated/algorithm.hpp"

#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "common/layout/ceil_divide.hpp"
#include "common/numerics/codec.hpp"
#include "conv/algorithms/repeated/params.hpp"
#include "conv/plan/copying_algorithm.hpp"
#include "conv/plan/inner_plan.hpp"
#include "conv/problem/tensors.hpp"
#include "conv/problem/validation.hpp"
#include "repetition_image.hpp"

namespace shiftconv::plan {
namespace {

using kernels::repetition::Axis;
using kernels::repetition::kThreads;
using kernels::repetition::Params;

constexpr std::string_view kName = "repeated";

/// A row of bytes for each pixel.
struct Rows {
  const char* name;
  TensorName tensor;
  int64_t bytes, pitch;
};

std::vector<Rows> repeatedRows(const Problem& p) {
  const numerics::NumberType type = numberType(p.inputType);
  std::vector<Rows> rows{
      {"the input", TensorName::Input, numerics::packedBytes(type, p.c), numerics::packedBytes(type, p.inputPitch())}};
  if (p.inputScale.blockSize != 0) {
    const int64_t blocks = ceilDivide(p.c, p.inputScale.blockSize);
    rows.push_back({"its scale factors", TensorName::InputScale, blocks, blocks});
  }
  return rows;
}

Problem ofRepeatedPixels(const Problem& p) {
  Problem inner = p;
  inner.d = p.imageD(), inner.h = p.imageH(), inner.w = p.imageW();
  inner.upsampleD = inner.upsampleH = inner.upsampleW = 1;
  inner.inputPixelPitch = 0;
  return inner;
}

int32_t vectorBytes(const Rows& rows) { return static_cast<int32_t>(std::gcd(std::gcd(rows.bytes, rows.pitch), int64_t{16})); }

PlannedLaunch launchOf(const Problem& p, const Rows& rows, TensorPlace destination) {
  const auto divisor = [](int64_t value) { return layout::FastDivisor(static_cast<uint32_t>(value)); };
  const auto axis = [&](int64_t stored, int64_t upsample) {
    return Axis{divisor(stored * upsample), divisor(upsample), static_cast<int32_t>(stored)};
  };
  Params params;
  params.vectorBytes = vectorBytes(rows);
  params.rowVectors = divisor(rows.bytes / params.vectorBytes);
  params.count = static_cast<uint32_t>(ofRepeatedPixels(p).inputPixels() * params.rowVectors.divisor);
  params.depth = axis(p.d, p.upsampleD), params.height = axis(p.h, p.upsampleH), params.width = axis(p.w, p.upsampleW);
  params.pitchBytes = rows.pitch;
  return launchOfCopy(images::repetition(), "repeat_pixels", params, ceilDivide(int64_t{params.count}, int64_t{kThreads}), kThreads,
                      {rows.tensor}, destination);
}

class Repeated final : public CopyingAlgorithm {
 public:
  using CopyingAlgorithm::CopyingAlgorithm;
  std::string_view name() const override { return kName; }
  bool takesUpsampled() const override { return true; }
  /// The algorithms with kernels that multiply.
  std::span<const OptionDescription> options() const override {
    static const std::string names = algorithmNames(search().algorithms(), multiplies);
    static const auto known = copyingOptions(names, "which computes the convolution of the repeated pixels; otherwise the best");
    return known;
  }

 protected:
  std::string copyingRefusal(const Problem& p, const device::Properties&) const override {
    if (!p.isUpsampled()) return "repeated is for upsampled inputs, but upsample_d, upsample_h and upsample_w are 1";
    if (p.inputScale.order != ScaleOrder::Plain) return "repeated takes input_block_scale in plain order, but it is interleaved";
    if (p.c * bitsOf(p.inputType) % 8 != 0)
      return fmt::format("repeated needs pixels of whole bytes, but {} channels of {} are none", p.c, nameOf(p.inputType));
    const Problem inner = ofRepeatedPixels(p);
    if (Status status = validate(inner); !status.ok()) return fmt::format("repeated: {}", status.message());
    for (const Rows& rows : repeatedRows(p))
      if (inner.inputPixels() > std::numeric_limits<int32_t>::max() / (rows.bytes / vectorBytes(rows)))
        return fmt::format("repeated needs fewer than 2^31 vectors of {} bytes in {}, upsampled", vectorBytes(rows), rows.name);
    return {};
  }
  std::string_view ofCopies() const override { return "the repeated pixels"; }
  Problem problemOfCopies(const Problem& p) const override { return ofRepeatedPixels(p); }
  Copying copying(const Problem& p) const override {
    const auto given = tensorBytes(p), repeated = tensorBytes(ofRepeatedPixels(p));
    Copying copies;
    for (const Rows& rows : repeatedRows(p))
      copies.bytes += static_cast<double>(given[rows.tensor] + repeated[rows.tensor]), ++copies.launches;
    return copies;
  }
  Status complete(const Candidate& best, const Problem& p, const device::Properties& properties, Plan& plan) const override {
    const Problem inner = ofRepeatedPixels(p);
    PerTensor<TensorPlace> places = placesAsGiven();
    const auto bytes = tensorBytes(inner);
    for (const Rows& rows : repeatedRows(p)) {
      places[rows.tensor] = placeInWorkspace(bytes[rows.tensor], plan);
      plan.launches.push_back(launchOf(p, rows, places[rows.tensor]));
      plan.details += fmt::format("repeats    {}: {} bytes of workspace\n", rows.name, bytes[rows.tensor]);
    }
    return addInner(best, inner, properties, places, plan);
  }
};

}  // namespace

const Algorithm& repeatedAlgorithm(const InnerSearch& search) {
  static const Repeated algorithm(search);
  return algorithm;
}

}  // namespace shiftconv::plan
