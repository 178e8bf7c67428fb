// What the provider has taken of the graphs of the latest session, and why not the rest.
#pragma once

#include <string>
#include <vector>

#include "conv/runtimes/onnxruntime/claims.hpp"
#include "conv/runtimes/onnxruntime/graph.hpp"
#include "conv/runtimes/onnxruntime/steps.hpp"

namespace shiftconv::runtimes::onnx {

/// A session begins: forgets what was there.
void beginReport(const std::string& device);
void addToReport(const Graph& graph, const Claims& claims);
/// Of an island that has been compiled.
void addToReport(const std::vector<Step>& steps);
/// {"device": "emulated sm_100a", "graphs": [{"nodes": [{"name": ..., "op": ..., "claimed": false, "reason": ...}], "islands":
/// [[...]]}], "steps": [[...]]}
std::string reportText();

}  // namespace shiftconv::runtimes::onnx
