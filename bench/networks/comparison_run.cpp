#include "bench/networks/comparison_run.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <optional>
#include <stdexcept>

#include "bench/conv/gpu/cudnn_side.hpp"
#include "verification_image.hpp"

namespace shiftconv::bench {
namespace {

CUstream streamOfGpu() {
  gpu::driver();
  CUstream stream = nullptr;
  SHIFTCONV_GPU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  return stream;
}

}  // namespace

void ComparisonOptions::addTo(command_line::Parser& parser) {
  parser.option("--batches", batchNumbers).separatedBy(',');
  parser.option("--plan-options", planOptions, "for every plan: \"dependent=no\"");
  parser.option("--cudnn-library", cudnnLibrary);
  parser.option("--cudnn-plans", cudnnPlans, "of heuristics A, B and fallback in their order; 0: none");
  parser.option("--rounds", rounds);
  parser.option("--seed", seed);
  parser.option("--json", json, "where the rows go; networks keeps those of earlier runs");
}

Sides::Sides(const ComparisonOptions& options)
    : stream(streamOfGpu()),
      verification(images::verification().fatbin),
      cudnnVersion(options.cudnnPlans > 0 ? cudnn::load(options.cudnnLibrary) : "none") {
  fmt::print("{}, cuDNN {}, seed {}\n", gpu::deviceName(), cudnnVersion, options.seed);
}

nlohmann::ordered_json readReport(const std::string& path) {
  using Json = nlohmann::ordered_json;
  std::ifstream file(path);
  return file ? Json::parse(file) : Json{{"rows", Json::array()}};
}

bool writeJson(const std::string& path, const nlohmann::ordered_json& report) {
  if (path.empty()) return true;
  std::ofstream file(path);
  file << report.dump(1) << "\n";
  if (file.flush()) return true;
  fmt::print(stderr, "cannot write {}\n", path);
  return false;
}

int runComparison(int argc, char** argv, command_line::Parser& parser, ComparisonOptions& options,
                  const std::function<int()>& run) {
  if (const std::optional<int> status = parser.parse(argc, argv)) return *status;
  if (options.seed == 0) options.seed = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) >> 10;
  try {
    return run();
  } catch (const std::runtime_error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}

}  // namespace shiftconv::bench
