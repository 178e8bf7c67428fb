// A look for the fastest plan among all engines of cuDNN and all values of their knobs, as far as the time allows. Knows nothing of
// cuDNN but numbers; what a choice takes is measured by the caller.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/conv/gpu/cudnn_side.hpp"

namespace shiftconv::gpu {

/// An engine with values of some of its knobs, in the order of their types; the others are left to the engine.
struct EngineChoice {
  int64_t engine = 0;
  cudnn::KnobValues knobs;
};
/// As cuDNN names its plans: "eng62_k2=4_k13=0".
std::string describe(const EngineChoice& choice);
/// Reads such a name; nothing when it is another one.
std::optional<EngineChoice> parseEngineChoice(std::string_view name);

struct EngineSearch {
  std::function<std::optional<double>(const EngineChoice&)> measure;  ///< microseconds; nothing when there is no such plan
  std::function<bool()> timeLeft;
  uint64_t seed = 0;
};

struct EngineSearchResult {
  std::optional<EngineChoice> best;
  double microseconds = 0;
  int64_t engines = 0;
  double combinations = 0;  ///< of values of all knobs, over all engines
  int64_t tried = 0, usable = 0;
  bool complete = false;  ///< every combination was tried
};

/// First every engine with the knobs it chooses itself. Then, beginning with the best of them and `start` (the best plan known so
/// far, if any), whatever differs from the best in the value of one knob, until nothing is faster. Then all that is left, in an
/// order that the seed decides. No choice is measured twice.
EngineSearchResult searchEngines(const std::vector<cudnn::Engine>& engines,
                                 const std::optional<std::pair<EngineChoice, double>>& start, const EngineSearch& search);

}  // namespace shiftconv::gpu
