// What single algorithms' models know besides the rates of the device (conv/plan/rates.hpp), each with how it is known: fixed
// clocks, rates of parts that no other algorithm has, and fitted corrections. Models read them by name, from the algorithm's own
// namespace; the rows stand in algorithm_rates.inc.
#pragma once

#include <span>
#include <string_view>

#include "conv/plan/correction.hpp"
#include "conv/plan/rates.hpp"

namespace shiftconv::plan {

#define ALGORITHM(NAME, NOTE) namespace rates::NAME {
#define RATE(NAME, VALUE, EVIDENCE, SOURCE) inline constexpr double NAME = VALUE;
#define CORRECTION(NAME, CONSTANT, SLOPE, CURVATURE, SOURCE) inline constexpr Correction NAME{CONSTANT, SLOPE, CURVATURE};
#define END() }
#include "conv/plan/algorithm_rates.inc"
#undef ALGORITHM
#undef RATE
#undef CORRECTION
#undef END

/// A row: a rate, or a correction of a whole estimate.
struct AlgorithmRate {
  std::string_view name;  ///< "kStartClocks"
  Rate rate;              ///< perClock holds the value, whatever its unit; 0 of corrections
  Correction correction;
  bool isCorrection = false;
};

struct AlgorithmRates {
  std::string_view algorithm, note;
  std::span<const AlgorithmRate> rows;
};

/// Of every algorithm that has any, in the order of their names.
std::span<const AlgorithmRates> allAlgorithmRates();

/// One line for each row: value, how it is known, source.
std::string describe(const AlgorithmRates& rates);

}  // namespace shiftconv::plan
