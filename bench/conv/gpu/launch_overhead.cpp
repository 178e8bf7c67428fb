#include "bench/conv/gpu/launch_overhead.hpp"

#include <chrono>

#include "bench/conv/gpu/regimes.hpp"

namespace shiftconv::gpu {
namespace {

constexpr int kBatches = 41, kCallsInBatch = 100;  // fewer launches than a stream's queue holds

struct BareLaunch {
  CUDA_KERNEL_NODE_PARAMS node{};
  CUlaunchAttribute attribute{};
  CUlaunchConfig config{};
};

/// The kernels of a graph, ready to be launched outside of it.
std::vector<BareLaunch> kernelsOf(CUgraph graph, CUstream stream) {
  size_t count = 0;
  SHIFTCONV_GPU(cuGraphGetNodes(graph, nullptr, &count));
  std::vector<CUgraphNode> nodes(count);
  SHIFTCONV_GPU(cuGraphGetNodes(graph, nodes.data(), &count));
  std::vector<BareLaunch> launches;
  launches.reserve(count);
  for (const CUgraphNode node : nodes) {
    CUgraphNodeType type{};
    SHIFTCONV_GPU(cuGraphNodeGetType(node, &type));
    if (type != CU_GRAPH_NODE_TYPE_KERNEL) continue;
    BareLaunch& launch = launches.emplace_back();
    SHIFTCONV_GPU(cuGraphKernelNodeGetParams(node, &launch.node));
    const CUDA_KERNEL_NODE_PARAMS& from = launch.node;
    CUlaunchConfig& to = launch.config;
    to.gridDimX = from.gridDimX, to.gridDimY = from.gridDimY, to.gridDimZ = from.gridDimZ;
    to.blockDimX = from.blockDimX, to.blockDimY = from.blockDimY, to.blockDimZ = from.blockDimZ;
    to.sharedMemBytes = from.sharedMemBytes;
    to.hStream = stream;
    launch.attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    SHIFTCONV_GPU(cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &launch.attribute.value));
    if (launch.attribute.value.clusterDim.x != 0) {
      to.attrs = &launch.attribute;
      to.numAttrs = 1;
    }
  }
  return launches;
}

template <class Call>
double microsecondsOf(CUstream stream, Call&& call) {
  SHIFTCONV_GPU(cuStreamSynchronize(stream));
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kCallsInBatch; ++i) call();
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
  return time.count() / kCallsInBatch;
}

}  // namespace

LaunchOverhead measureLaunchOverhead(CUgraph graph, const std::function<void(CUstream)>& enqueue, CUstream stream) {
  const std::vector<BareLaunch> launches = kernelsOf(graph, stream);
  const auto launch = [&] {
    for (const BareLaunch& bare : launches)
      SHIFTCONV_GPU(cuLaunchKernelEx(&bare.config, bare.node.func, bare.node.kernelParams, nullptr));
  };
  std::vector<double> run, bare;
  for (int batch = 0; batch < kBatches; ++batch) {
    run.push_back(microsecondsOf(stream, [&] { enqueue(stream); }));
    bare.push_back(microsecondsOf(stream, launch));
  }
  return {median(run), median(bare), static_cast<int>(launches.size())};
}

}  // namespace shiftconv::gpu
