#include "conv/runtimes/onnxruntime/provider.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "conv/runtimes/onnxruntime/boundary.hpp"
#include "conv/runtimes/onnxruntime/claims.hpp"
#include "conv/runtimes/onnxruntime/lowering.hpp"
#include "conv/runtimes/onnxruntime/read_graph.hpp"
#include "conv/runtimes/onnxruntime/report.hpp"

namespace shiftconv::runtimes::onnx {
namespace {

/// Shapes, scales and limits; filters are larger, and not looked at while claims are made.
constexpr size_t kSmallConstantBytes = 256;

std::string optionOf(const OrtSessionOptions* options, const char* name, const char* otherwise) {
  // What a caller gives as provider options, the runtime keeps under this prefix.
  std::string key = std::string("ep.") + kProviderName + "." + name;
  std::transform(key.begin(), key.end(), key.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const Ort::ConstSessionOptions session(options);
  return session.HasConfigEntry(key.c_str()) ? session.GetConfigEntry(key.c_str()) : otherwise;
}

bool flagOf(const OrtSessionOptions* options, const char* name) {
  const std::string text = optionOf(options, name, "0");
  if (text != "0" && text != "1") throw std::invalid_argument(std::string(name) + " must be 0 or 1, but is \"" + text + "\"");
  return text == "1";
}

/// Values by their names: the runtime has an order of its own for what enters and leaves a fused node.
std::vector<int> indicesOf(const std::vector<Ort::ConstValueInfo>& values, const Graph& graph) {
  std::vector<int> indices;
  for (const Ort::ConstValueInfo& value : values) {
    const std::string name = value.GetName();
    const auto found =
        std::find_if(graph.values.begin(), graph.values.end(), [&](const Value& known) { return known.name == name; });
    if (found == graph.values.end()) throw std::invalid_argument("the compiled graph has no value '" + name + "'");
    indices.push_back(static_cast<int>(found - graph.values.begin()));
  }
  return indices;
}

}  // namespace

Provider::Provider(const OrtSessionOptions* options, const OrtLogger* logger)
    : OrtEp{}, session_(std::make_shared<SessionDevice>(optionOf(options, "device", "auto"))), logger_(logger) {
  session_->tf32 = flagOf(options, "use_tf32");
  beginReport(session_->device.properties().name);
  ort_version_supported = ORT_API_VERSION;
  OrtEp::GetName = [](const OrtEp*) noexcept { return kProviderName; };
  OrtEp::GetCapability = [](OrtEp* self, const OrtGraph* graph, OrtEpGraphSupportInfo* support) noexcept -> OrtStatus* {
    return boundary([&] { static_cast<Provider*>(self)->getCapability(graph, support); });
  };
  OrtEp::Compile = [](OrtEp* self, const OrtGraph** graphs, const OrtNode** fused, size_t count, OrtNodeComputeInfo** infos,
                      OrtNode**) noexcept -> OrtStatus* {
    return boundary([&] {
      std::vector<std::unique_ptr<CompiledIsland>> islands;
      for (size_t i = 0; i < count; ++i) islands.push_back(static_cast<Provider*>(self)->compile(graphs[i], fused[i]));
      for (size_t i = 0; i < count; ++i) infos[i] = islands[i].release();
    });
  };
  OrtEp::ReleaseNodeComputeInfos = [](OrtEp*, OrtNodeComputeInfo** infos, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i) delete static_cast<CompiledIsland*>(infos[i]);
  };
}

void Provider::getCapability(const OrtGraph* source, OrtEpGraphSupportInfo* support) {
  const Ort::ConstGraph runtimeGraph(source);
  const std::vector<Ort::ConstNode> nodes = runtimeGraph.GetNodes();
  const Graph graph = readGraph(runtimeGraph, kSmallConstantBytes);
  const Claims claims = claim(graph);
  addToReport(graph, claims);
  for (size_t i = 0; i < nodes.size(); ++i)
    if (!claims.refusals[i].empty())
      logger_.LogMessage(
          ORT_LOGGING_LEVEL_INFO, ORT_FILE, __LINE__, __FUNCTION__,
          ("ShiftConv leaves " + graph.nodes[i].op + " '" + graph.nodes[i].name + "': " + claims.refusals[i]).c_str());
  for (const std::vector<size_t>& island : claims.islands) {
    std::vector<const OrtNode*> members;
    for (const size_t i : island) members.push_back(nodes[i]);
    OrtNodeFusionOptions options{};
    options.ort_version_supported = ORT_API_VERSION;
    options.drop_constant_initializers = true;  // the device has copies
    Ort::ThrowOnError(Ort::GetEpApi().EpGraphSupportInfo_AddNodesToFuse(support, members.data(), members.size(), &options));
  }
}

std::unique_ptr<CompiledIsland> Provider::compile(const OrtGraph* source, const OrtNode* fused) {
  Island island;
  island.graph = readGraph(Ort::ConstGraph(source), std::numeric_limits<size_t>::max());
  const Ort::ConstNode node(fused);
  island.inputs = indicesOf(node.GetInputs(), island.graph);
  island.outputs = indicesOf(node.GetOutputs(), island.graph);
  for (Value& value : island.graph.values) value.isOutput = false;
  for (const int output : island.outputs) island.graph.values[static_cast<size_t>(output)].isOutput = true;
  island.steps = lower(island.graph);
  addToReport(island.steps);
  return std::make_unique<CompiledIsland>(std::move(island), session_);
}

}  // namespace shiftconv::runtimes::onnx
