// A question in a process of its own, because a fault leaves a CUDA context unusable.
#pragma once

#include <string>
#include <vector>

#include "tests/probe/question.hpp"

namespace shiftconv::probe {

/// Runs this program again with `arguments`, `--only` and `--json`, and reads its answer. A child that crashes or gives no
/// answer in time is killed and reported as having observed none of the alternatives.
Observation observeIsolated(const Experiment& experiment, const std::vector<std::string>& arguments);

}  // namespace shiftconv::probe
