#include "conv/algorithms/raw_rows/algorithm.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <utility>

#include "conv/algorithms/raw_rows/plan.hpp"
#include "conv/plan/epilogue.hpp"
#include "conv/plan/listed_algorithm.hpp"
#include "conv/plan/targets.hpp"
#include "raw_rows_bytes_image.hpp"
#include "raw_rows_image.hpp"

namespace shiftconv::plan {
namespace {

constexpr std::array<OptionDescription, 4> kOptions{{{"rows", "1 to 256", "output rows of a tile"},
                                                     {"columns", "1 to 4096", "output columns of a tile"},
                                                     {"channels", "32, 64", "output channels of a CTA"},
                                                     kFilterDependentOption}};

Status readRawRows(std::string_view text, RawRowsChoices& choices) {
  OptionValues values;
  if (Status status = OptionValues::parse(text, kOptions, values); !status.ok()) return status;
  if (Status status = values.number("rows", 1, kRawRowsMostRows, 1, choices.rows); !status.ok()) return status;
  if (Status status = values.number("columns", 1, kRawRowsMostColumns, 1, choices.columns); !status.ok()) return status;
  if (Status status = values.number("channels", 32, 64, 32, choices.channels); !status.ok()) return status;
  return values.dependent(choices.dependent);
}

class RawRows final : public ListedAlgorithm<RawRowsChoices, RawRowsPlan> {
 public:
  std::string_view name() const override { return "raw_rows"; }
  std::optional<Accumulation> accumulation() const override { return Accumulation::HalfTensorCore; }
  std::span<const OptionDescription> options() const override { return kOptions; }
  bool isBuiltFor(const device::Properties& properties) const override { return isHopperOrBlackwell(properties); }
  std::string refusal(const Problem& problem, const device::Properties& properties) const override {
    return rawRowsRefusal(problem, properties);
  }

 protected:
  Status read(std::string_view text, RawRowsChoices& choices) const override { return readRawRows(text, choices); }
  std::vector<RawRowsPlan> list(const Problem& problem, const device::Properties& properties,
                                const RawRowsChoices& choices) const override {
    return rawRowsCandidates(problem, properties, choices);
  }
  std::string optionText(const RawRowsPlan& made) const override {
    return OptionText()
        .add("rows", made.rows)
        .add("columns", made.columns)
        .add("channels", made.channels)
        .addIf(!made.launch.programmaticDependent, kFilterDependentOption.name, toString(Dependence::None))
        .addIf(made.params.filterAhead, kFilterDependentOption.name, toString(Dependence::Filter))
        .text();
  }
  Tiling tiling(const RawRowsPlan& made) const override { return {made.rows * made.columns, made.channels, 1, {made.rows}}; }
  void addLaunches(const Problem& problem, const RawRowsPlan& made, Plan& plan) const override {
    addPreparedLaunch(problem, bitsOf(problem.inputType) == 8 ? images::raw_rows_bytes() : images::raw_rows(), made.kernelName,
                      made.launch, made.params, "copy and multiply", plan);
  }
  std::string noPlan(const Problem&, const device::Properties&, std::string_view options) const override {
    return fmt::format("raw_rows has no room in shared memory for tiles with the options {}", options);
  }
};

}  // namespace

const Algorithm& rawRowsAlgorithm() {
  static const RawRows algorithm;
  return algorithm;
}

}  // namespace shiftconv::plan
