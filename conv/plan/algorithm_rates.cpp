#include "conv/plan/algorithm_rates.hpp"

#include <fmt/format.h>

namespace shiftconv::plan {
namespace {

using enum Evidence;

#define ALGORITHM(NAME, NOTE) constexpr AlgorithmRate NAME##Rows[] = {
#define RATE(NAME, VALUE, EVIDENCE, SOURCE) {#NAME, {VALUE, EVIDENCE, SOURCE}, {}, false},
#define CORRECTION(NAME, CONSTANT, SLOPE, CURVATURE, SOURCE) {#NAME, {0, Fitted, SOURCE}, {CONSTANT, SLOPE, CURVATURE}, true},
#define END() \
  }           \
  ;
#include "conv/plan/algorithm_rates.inc"
#undef ALGORITHM
#undef RATE
#undef CORRECTION
#undef END

constexpr AlgorithmRates kTables[] = {
#define ALGORITHM(NAME, NOTE) {#NAME, NOTE, NAME##Rows},
#define RATE(...)
#define CORRECTION(...)
#define END()
#include "conv/plan/algorithm_rates.inc"
#undef ALGORITHM
#undef RATE
#undef CORRECTION
#undef END
};

}  // namespace

std::span<const AlgorithmRates> allAlgorithmRates() { return kTables; }

std::string describe(const AlgorithmRates& rates) {
  std::string text = fmt::format("{}: {}\n", rates.algorithm, rates.note);
  for (const AlgorithmRate& row : rates.rows) {
    const Correction& c = row.correction;
    const std::string value = row.isCorrection ? fmt::format("{:g}; {:g}; {:g}", c.constant, c.slope, c.curvature)
                                               : fmt::format("{:g}", row.rate.perClock);
    text += fmt::format("  {:<25} {:>7} ({}: {})\n", row.name, value, nameOf(row.rate.evidence), row.rate.source);
  }
  return text;
}

}  // namespace shiftconv::plan
