// Which kernels the planner takes for random layers of common sizes, and which of those that it could take it never does. Needs no
// device.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "common/command_line/command_line.hpp"
#include "common/device/registry.hpp"
#include "conv/planner/candidates.hpp"

using namespace shiftconv;

namespace {

struct Options {
  std::string device = "H200", only;
  uint32_t problems = 20000, seed = 1;
};

/// How often a kernel was the best candidate's, and any candidate's.
struct Count {
  uint32_t chosen = 0, offered = 0;
};

class RandomLayers {
 public:
  explicit RandomLayers(uint64_t seed) : random_(seed) {}

  Problem next() {
    Problem p;
    p.n = one<int64_t>({1, 1, 2, 4, 8, 8, 16, 32, 32, 64, 128});
    p.h = p.w = one<int64_t>({7, 7, 14, 14, 28, 28, 56, 56, 112, 224, 8, 16, 32, 64, 20, 40, 80, 13, 17, 19, 35, 38, 73, 75, 149});
    if (oneIn(8)) p.w = one<int64_t>({7, 14, 28, 56, 16, 32, 64, 100});
    p.c = channels(), p.k = channels();
    p.r = p.s = one<int64_t>({1, 3, 3, 3, 3, 5, 7});
    if (oneIn(12)) p.r = 1, p.s = one<int64_t>({3, 7});
    if (oneIn(12)) p.r = one<int64_t>({3, 7}), p.s = 1;
    p.padTop = p.padBottom = p.r / 2, p.padLeft = p.padRight = p.s / 2;
    if (oneIn(5)) p.strideH = p.strideW = 2;
    if (oneIn(12)) {
      p.dilationH = p.dilationW = 2;
      p.padTop = p.padBottom = p.r / 2 * 2, p.padLeft = p.padRight = p.s / 2 * 2;
    }
    if (oneIn(12)) depthwise(p);
    setTypes(p);
    p.hasBias = !oneIn(3);
    if (oneIn(4)) {
      p.beta = 1;
      if (bitsOf(p.inputType) == 16) p.residualType = p.inputType;
    }
    p.activation = one({Activation::None, Activation::Relu, Activation::Relu, Activation::Silu});
    return p;
  }

 private:
  template <class T>
  T one(std::initializer_list<T> values) {
    return values.begin()[random_() % values.size()];
  }
  bool oneIn(uint32_t of) { return random_() % of == 0; }
  int64_t channels() {
    return one<int64_t>({3,   16,  24,  32,  32,  40,  48,  64,  64,  64,  72,  80,  96,  112, 128,  128,  128,  160,
                         192, 224, 256, 256, 256, 320, 384, 480, 512, 512, 512, 640, 768, 960, 1024, 1024, 1280, 2048});
  }
  void setTypes(Problem& p) {
    using enum DataType;
    p.inputType = one({F16, F16, F16, F16, BF16, BF16, F32, E4M3, E4M3, E5M2, S8, S8, U8});
    p.filterType = p.outputType = p.inputType;
    if (p.inputType == F32) p.compute = Compute::TF32;
    if (p.inputType == E4M3 || p.inputType == E5M2) p.filterType = one({E4M3, E4M3, E4M3, E5M2}), p.outputType = one({F16, BF16});
    if (p.inputType == S8 || p.inputType == U8) p.filterType = one({S8, S8, S8, U8});
  }
  void depthwise(Problem& p) {
    if (p.c % 8 != 0) p.c = 32;
    p.k = p.groups = p.c;
  }

  std::mt19937_64 random_;
};

int run(const Options& options) {
  device::Properties properties;
  bool found = false;
  for (const device::Preset& preset : device::presets())
    if (preset.name == options.device) properties = preset.properties, found = true;
  if (!found) {
    fmt::print(stderr, "there is no preset {}\n", options.device);
    return 2;
  }
  RandomLayers layers(options.seed);
  std::map<std::string, Count> kernels;
  uint32_t planned = 0;
  for (uint32_t i = 0; i < options.problems; ++i) {
    const Problem problem = layers.next();
    plan::Candidates candidates;
    if (!plan::findCandidates(problem, properties, {}, candidates, plan::RefusalTexts::LeftOut).ok()) continue;
    ++planned;
    for (size_t index = 0; index < candidates.all.size(); ++index) {
      plan::Plan made;
      if (!candidates.all[index].complete(problem, properties, made).ok()) continue;
      Count& count = kernels[fmt::format("{} {}", candidates.all[index].algorithm->name(), made.kernelName())];
      ++count.offered;
      count.chosen += index == candidates.best;
    }
  }
  fmt::print("{}: {} random layers, seed {}, {} planned\n", options.device, options.problems, options.seed, planned);
  for (const auto& [name, count] : kernels)
    if (name.find(options.only) != std::string::npos) fmt::print("  {:7} of {:8}  {}\n", count.chosen, count.offered, name);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  command_line::Parser parser(
      "Which kernels the planner takes for random layers of common sizes: how often, of how many candidates.");
  parser.option("--device", options.device, "a preset").showDefault();
  parser.option("--problems", options.problems, "random layers").showDefault();
  parser.option("--seed", options.seed, "of the layers").showDefault();
  parser.option("--only", options.only, "kernels with this in their names");
  if (const std::optional<int> status = parser.parse(argc, argv)) return *status;
  try {
    return run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
