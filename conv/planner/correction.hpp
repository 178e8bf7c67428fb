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
  size_t trees;  ///< that a candidate has been asked then, beside wholeTreesAskedWith(trees)
  /// Natural logarithms of how many times as long as the fastest a candidate may take then: of its algorithm, and of all.
  double behindItsOwn, behindAll;
};

/// With trees of 2026-11-27 the candidate that wins when all are asked everything was never further behind in its algorithm, over
/// 11,150 recorded problems, than 0.76, 0.47, 0.38, 0.30, 0.27, 0.26, 0.17, 0.11, 0.08 and 0.04 and, but for the first round, never
/// further behind all than 0.67, 0.51, 0.38, 0.32, 0.26, 0.17, 0.12, 0.08 and 0.04. With those that ship, 8 of 25,774 recorded
/// problems get another plan than if all were asked everything; three of these are estimated to take 1.08 to 1.2 times as long.
inline constexpr std::array kCorrectionRounds{
    CorrectionRound{0, 0.85, std::numeric_limits<double>::infinity()},  // models of different algorithms are off by more
    CorrectionRound{4, 0.52, 0.75},
    CorrectionRound{8, 0.43, 0.57},
    CorrectionRound{12, 0.34, 0.44},
    CorrectionRound{16, 0.31, 0.36},
    CorrectionRound{20, 0.29, 0.3},
    CorrectionRound{30, 0.2, 0.2},
    CorrectionRound{40, 0.14, 0.14},
    CorrectionRound{60, 0.1, 0.1},
    CorrectionRound{80, 0.06, 0.06}};

/// Trees for whole epilogues, the first of which say most, that a candidate has been asked together with so many others. (All at
/// once, planning of such epilogues took longer.)
constexpr size_t wholeTreesAskedWith(size_t trees) { return 10 + trees * 5 / 2; }

/// The fastest gets what all its trees say, a factor between 1/3 and 3. Who was left behind stays as many times as slow as the
/// fastest as it was then.
void correct(const Problem& problem, const device::Properties& properties, std::span<Candidate> candidates);

}  // namespace shiftconv::plan
