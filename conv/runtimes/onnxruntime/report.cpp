#include "conv/runtimes/onnxruntime/report.hpp"

#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

namespace shiftconv::runtimes::onnx {
namespace {

nlohmann::ordered_json emptyReport(nlohmann::ordered_json device) {
  return {{"device", std::move(device)}, {"graphs", nlohmann::ordered_json::array()}, {"steps", nlohmann::ordered_json::array()}};
}

struct Report {
  std::mutex mutex;
  nlohmann::ordered_json json = emptyReport(nullptr);
};
Report& report() {
  static Report kept;
  return kept;
}

}  // namespace

void beginReport(const std::string& device) {
  const std::lock_guard lock(report().mutex);
  report().json = emptyReport(device);
}

void addToReport(const Graph& graph, const Claims& claims) {
  nlohmann::ordered_json nodes = nlohmann::ordered_json::array(), islands = nlohmann::ordered_json::array();
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    nlohmann::ordered_json row{{"name", node.name}, {"op", node.op}, {"claimed", claims.refusals[i].empty()}};
    if (!claims.refusals[i].empty()) row["reason"] = claims.refusals[i];
    nodes.push_back(std::move(row));
  }
  for (const auto& island : claims.islands) {
    nlohmann::ordered_json names = nlohmann::ordered_json::array();
    for (const size_t i : island) names.push_back(graph.nodes[i].name);
    islands.push_back(std::move(names));
  }
  const std::lock_guard lock(report().mutex);
  report().json["graphs"].push_back({{"nodes", std::move(nodes)}, {"islands", std::move(islands)}});
}

void addToReport(const std::vector<Step>& steps) {
  nlohmann::ordered_json names = nlohmann::ordered_json::array();
  for (const Step& step : steps) names.push_back(step.name);
  const std::lock_guard lock(report().mutex);
  report().json["steps"].push_back(std::move(names));
}

std::string reportText() {
  const std::lock_guard lock(report().mutex);
  return report().json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace shiftconv::runtimes::onnx
