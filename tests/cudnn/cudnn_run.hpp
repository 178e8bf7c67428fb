// cuDNN on a case's tensors.
#pragma once

#include "conv/tools/convolve/runs.hpp"

namespace shiftconv::referee {

/// Its first plan that builds and runs, in the problem's types; where there is none, in f32 on the dequantised operands. A row as
/// report() makes it with "types" and "plan", or {"side", "refusal"}.
nlohmann::ordered_json runCudnn(const judged::Case& one, const Device& device);

}  // namespace shiftconv::referee
