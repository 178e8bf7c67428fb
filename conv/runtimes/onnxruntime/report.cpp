#include "conv/runtimes/onnxruntime/report.hpp"

#include <mutex>
#include <nlohmann/json.hpp>

namespace shiftconv::runtimes::onnx {
namespace {

struct Report {
  std::mutex mutex;
  nlohmann::ordered_json json = {{"device", nullptr}, {"graphs", nlohmann::ordered_json::array()}};
};
Report& report() {
  static Report kept;
  return kept;
}

}  // namespace

void beginReport(const std::string& device) {
  const std::lock_guard lock(report().mutex);
  report().json = {{"device", device}, {"graphs", nlohmann::ordered_json::array()}};
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

std::string reportText() {
  const std::lock_guard lock(report().mutex);
  return report().json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace shiftconv::runtimes::onnx
