// The convolutions that a transposed one is made of, in each of the forms that `phases` has.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "conv/algorithms/phases/params.hpp"
#include "conv/plan/phase_axis.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan::phases {

using kernels::phases::kAxes;

enum class Form : uint8_t {
  Apart,   ///< filters of the phases are gathered, and their outputs copied from the workspace
  Direct,  ///< each phase reads its taps where they are, and writes where its outputs belong
  Rows,    ///< phases of a row are the output channels of one convolution, which writes whole rows where they belong
  United,  ///< all phases are the output channels of one convolution, with the taps of all
};
inline constexpr std::array<std::string_view, 4> kFormNames{"apart", "direct", "rows", "united"};

/// Output positions with the same rests.
struct Phase {
  std::array<int64_t, kAxes> rests;  ///< at the division by the strides: depth, height, width
  std::array<AxisPhase, kAxes> axes;
  Problem problem;    ///< of a phase apart
  size_t sameAs = 0;  ///< the first phase with this problem

  bool exists() const { return axes[0].outputs > 0 && axes[1].outputs > 0 && axes[2].outputs > 0; }
  bool isExact() const { return axes[0].isExact() && axes[1].isExact() && axes[2].isExact(); }
  bool isEmpty() const { return axes[0].taps == 0 || axes[1].taps == 0 || axes[2].taps == 0; }
};

int64_t phaseCount(const Problem& p);

/// Apart, in the order of the kernels: the width fastest. Of at most kMostPhases.
std::vector<Phase> phasesOf(const Problem& p);
/// Whether phase i is the first of its kind.
inline bool isFirst(const std::vector<Phase>& phases, size_t i) { return phases[i].exists() && phases[i].sameAs == i; }

/// The same in Form::Direct; none where a phase would write more than its outputs or has no tap, where planes of images are not
/// equally far apart, or pixels begin at any byte.
std::optional<std::vector<Phase>> directPhases(const Problem& p);

/// The phases of an axis as those of one convolution.
struct UnitedAxis {
  int64_t taps = 1, padBefore = 0, padAfter = 0, outputs = 0;
  std::vector<AxisPhase> phases;  ///< by rest
  std::vector<int64_t> before;    ///< taps of zeros in front of those of each
  bool isExact = true;            ///< whether each has as many outputs as there are
};
/// The phases of the depth and the height, each with those of the width as its channels.
struct Rows {
  UnitedAxis width;
  std::vector<Phase> phases;
};
/// None where unitedOf is none because of the width, directPhases because of anything else, and with gaps between pixels.
std::optional<Rows> rowsOf(const Problem& p);

struct United {
  std::array<UnitedAxis, kAxes> axes;
  Problem problem;
  bool writesOutput = false;  ///< its output is the whole output as it lies
};
/// None with groups or filters whose taps of a phase are not neighbours; and where it would compute outputs that no residual or
/// largest magnitude may have.
std::optional<United> unitedOf(const Problem& p);

}  // namespace shiftconv::plan::phases
