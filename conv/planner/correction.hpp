// Corrects the estimates of a problem's candidates by recorded times, where there are some (conv/plan/measured_correction.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <span>

#include "common/device/device.hpp"
#include "conv/plan/algorithm.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// Trees cost more than anything else of planning, and most candidates lose clearly. So the trees are asked in rounds, and who is
/// far behind is not asked any further.
struct CorrectionRound {
  size_t trees;  ///< that a candidate has been asked then, beside those for whole epilogues
  /// Natural logarithms of how many times as long as the fastest a candidate may take then: of its algorithm, and of all.
  double behindItsOwn, behindAll;
};

/// Over 10,970 recorded problems the candidate that wins when all are asked everything is never further behind in its algorithm
/// than 0.77, 0.42, 0.36, 0.29, 0.22, 0.22, 0.20, 0.16, 0.08 and 0.05 and, but for the first round, never further behind all than
/// 0.65, 0.49, 0.39, 0.23, 0.25, 0.20, 0.16, 0.11 and 0.10.
inline constexpr std::array kCorrectionRounds{
    CorrectionRound{0, 0.9, std::numeric_limits<double>::infinity()},  // models of different algorithms are off by more
    CorrectionRound{4, 0.6, 0.9},
    CorrectionRound{8, 0.5, 0.75},
    CorrectionRound{12, 0.45, 0.6},
    CorrectionRound{16, 0.4, 0.5},
    CorrectionRound{20, 0.3, 0.4},
    CorrectionRound{30, 0.27, 0.32},
    CorrectionRound{40, 0.22, 0.25},
    CorrectionRound{60, 0.14, 0.15},
    CorrectionRound{80, 0.11, 0.12}};

/// The fastest gets what all its trees say, a factor between 1/3 and 3. Who was left behind stays as many times as slow as the
/// fastest as it was then.
void correct(const Problem& problem, const device::Properties& properties, std::span<Candidate> candidates);

}  // namespace shiftconv::plan
