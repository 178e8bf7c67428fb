#include "conv/algorithms/im2col_sm90/algorithm.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <utility>

#include "conv/algorithms/im2col_sm90/plan.hpp"
#include "conv/algorithms/im2col_sm90/rows.hpp"
#include "conv/plan/epilogue.hpp"
#include "conv/plan/listed_algorithm.hpp"
#include "conv/plan/targets.hpp"
#include "im2col_bytes_sm90_image.hpp"
#include "im2col_phases_sm90_image.hpp"
#include "im2col_pieces_sm90_image.hpp"
#include "im2col_shared_sm90_image.hpp"
#include "im2col_shifted_sm90_image.hpp"
#include "im2col_sm90_image.hpp"

namespace shiftconv::plan::sm90 {
namespace {

constexpr std::array<OptionDescription, 6> kOptions{
    {{"tile", "64x16 to 192x128", "output pixels x output channels of a CTA"},
     {"stages", "1 to 9", "of the ring of operands; one serves a reduction of one step alone"},
     {"split", "1, 2, 4", "CTAs that share the reduction of a tile"},
     {"share", "none, pixels, filter, both, 4x1, 1x4, 4x2, 2x4",
      "operands that CTAs of a cluster load for each other: with neighbouring tiles of channels their pixels, of pixels their "
      "filter; in pairs, or so many with the same pixels x with the same filter; none where split is given and share is not"},
     {"pieces", "yes, no",
      "threads copy the operands of a 1x1 filter without stride, padding or groups, not the copy engine; the only way where rows "
      "are no whole 16 bytes"},
     {kFilterDependentOption.name, kFilterDependentOption.range,
      "start while the kernel before it in the stream still runs, and wait for it (programmatic dependent launch); filter: in "
      "short "
      "runs, and read the filter before that, which has to be constant (constant_filter); yes in short runs"}}};

constexpr std::array<std::string_view, 3> kSplitNames{"1", "2", "4"};

Status readIm2col(std::string_view text, Im2colChoices& choices) {
  OptionValues values;
  if (Status status = OptionValues::parse(text, kOptions, values); !status.ok()) return status;
  if (Status status = values.choice("tile", im2colTileNames(), choices.tile); !status.ok()) return status;
  std::optional<uint32_t> stages;
  if (Status status = values.number("stages", 1, kernels::im2col::kMaximumStages, 1, stages); !status.ok()) return status;
  if (stages) choices.stages = static_cast<int32_t>(*stages);
  std::optional<size_t> split;
  if (Status status = values.choice("split", kSplitNames, split); !status.ok()) return status;
  if (split) choices.split = 1 << *split;
  std::optional<size_t> shared;
  if (Status status = values.choice("share", im2colSharedNames(), shared); !status.ok()) return status;
  if (shared)
    choices.shared = static_cast<Shared>(*shared);
  else if (split)
    choices.shared = Shared::None;  // a cluster that is described to have no more in common
  if (Status status = values.flag("pieces", choices.inPieces); !status.ok()) return status;
  if (!values.find(kFilterDependentOption.name)) return {};
  return values.dependent(choices.dependent.emplace());
}

class Im2col final : public ListedAlgorithm<Im2colChoices, Im2colPlan> {
 public:
  std::string_view name() const override { return "im2col_sm90"; }
  std::optional<Accumulation> accumulation() const override { return Accumulation::WgmmaTensorCore; }
  bool takesSplit() const override { return true; }
  bool takesTransposed() const override { return true; }
  std::span<const OptionDescription> options() const override { return kOptions; }
  bool isBuiltFor(const device::Properties& properties) const override { return isHopper(properties); }
  std::string refusal(const Problem& problem, const device::Properties& properties) const override {
    return im2colRefusal(problem, properties);
  }

 protected:
  Status read(std::string_view text, Im2colChoices& choices) const override { return readIm2col(text, choices); }
  std::vector<Im2colPlan> list(const Problem& problem, const device::Properties& properties,
                               const Im2colChoices& choices) const override {
    return im2colCandidates(problem, properties, choices);
  }
  std::string optionText(const Im2colPlan& made) const override {
    return OptionText()
        .add("tile", im2colTileNames()[made.tile])
        .add("stages", made.params.stages)
        .add("split", 1 << made.params.splitShift)
        .addIf(made.shared != Shared::None, "share", im2colSharedNames()[static_cast<size_t>(made.shared)])
        .addIf(made.params.pieces.bytes == kMapBytes, "pieces", "yes")
        .addIf(made.params.filterAhead, kFilterDependentOption.name, toString(Dependence::Filter))
        .addIf(made.launch.programmaticDependent != made.dependsByDefault, kFilterDependentOption.name,
               made.dependsByDefault ? "no" : "yes")
        .text();
  }
  Tiling tiling(const Im2colPlan& made) const override { return made.tiling(); }
  void addLaunches(const Problem& problem, const Im2colPlan& made, Plan& plan) const override {
    using kernels::im2col::Params;
    Parameter params = Parameter::value(made.params);
    bindEpilogue(params, offsetof(Params, epilogue));
    if (made.isInPieces()) {
      using kernels::im2col::RowPieces;
      params.address(offsetof(Params, pieces) + offsetof(RowPieces, input), {TensorName::Input});
      params.address(offsetof(Params, pieces) + offsetof(RowPieces, filter), {TensorName::Filter});
      plan.launches.push_back({made.shiftsWords() ? images::im2col_shifted_sm90() : images::im2col_pieces_sm90(),
                               made.kernelName(),
                               made.launch,
                               {std::move(params)},
                               made.warpRoles()});
      return;
    }
    if (problem.isSplit()) params.map(offsetof(Params, secondMap), made.second, {TensorName::SecondInput});
    if (made.phases) {
      plan.launches.push_back({images::im2col_phases_sm90(),
                               made.kernelName(),
                               made.launch,
                               {Parameter::map(made.input, {TensorName::Input}), Parameter::map(made.filter, {TensorName::Filter}),
                                std::move(params), Parameter::value(*made.phases)},
                               made.warpRoles()});
      return;
    }
    plan.launches.push_back(
        {bitsOf(problem.inputType) == 8                        ? images::im2col_bytes_sm90()
         : made.kernel == kernels::im2col::InCluster::Operands ? images::im2col_shared_sm90()
                                                               : images::im2col_sm90(),
         made.kernelName(),
         made.launch,
         {Parameter::map(made.input, {TensorName::Input}), Parameter::map(made.filter, {TensorName::Filter}), std::move(params)},
         made.warpRoles()});
  }
  std::string noPlan(const Problem&, const device::Properties&, std::string_view options) const override {
    return fmt::format(
        "im2col_sm90 has no kernel for the options {}: there are tiles of 64, 128 and 192 pixels, the stages have to fit into "
        "shared memory, a reduction is split in tiles of 64 or 128 pixels x 64 or 128 channels of f16 or bf16, with a chunk of 64 "
        "channels or more for each CTA, tiles of f16 or bf16 share operands, only pixels where the input is split along the depth, "
        "and "
        "pieces are of a 1x1 filter without stride, padding or groups",
        options);
  }
};

}  // namespace

const Algorithm& im2colAlgorithm() {
  static const Im2col algorithm;
  return algorithm;
}

}  // namespace shiftconv::plan::sm90
