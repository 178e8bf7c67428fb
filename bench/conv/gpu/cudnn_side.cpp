#include "bench/conv/gpu/cudnn_side.hpp"

#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>
#include <vector>

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#include <cudnn_frontend.h>

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;  // where the frontend looks symbols up
}

namespace shiftconv::cudnn {

namespace fe = cudnn_frontend;

namespace {

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::exit(2);
}

cudnnHandle_t handle() {
  static cudnnHandle_t instance = [] {
    cudnnHandle_t created = nullptr;
    if (fe::detail::create_handle(&created) != CUDNN_STATUS_SUCCESS) fail("cudnnCreate failed");
    return created;
  }();
  return instance;
}

}  // namespace

std::string load(const std::string& path) {
  fe::cudnn_dlhandle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (fe::cudnn_dlhandle == nullptr) fail("cannot open cuDNN: " + std::string(dlerror()));
  const size_t version = fe::detail::get_backend_version();
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
}

struct Convolution::State {
  fe::graph::Graph graph;
  std::shared_ptr<fe::graph::Tensor_attributes> x, w, y;
};

Convolution::Convolution(const Problem& p) : state_(std::make_unique<State>()) {
  const auto type = p.inputType == DataType::BF16 ? fe::DataType_t::BFLOAT16 : fe::DataType_t::HALF;
  auto& g = state_->graph;
  g.set_io_data_type(type).set_intermediate_data_type(fe::DataType_t::FLOAT).set_compute_data_type(fe::DataType_t::FLOAT);
  const int64_t filterC = p.groupChannels();
  state_->x = g.tensor(
      fe::graph::Tensor_attributes().set_name("x").set_dim({p.n, p.c, p.h, p.w}).set_stride({p.c * p.h * p.w, 1, p.c * p.w, p.c}));
  state_->w = g.tensor(fe::graph::Tensor_attributes()
                           .set_name("w")
                           .set_dim({p.k, filterC, p.r, p.s})
                           .set_stride({filterC * p.r * p.s, 1, filterC * p.s, filterC}));
  state_->y = g.conv_fprop(state_->x, state_->w,
                           fe::graph::Conv_fprop_attributes()
                               .set_pre_padding({p.padTop, p.padLeft})
                               .set_post_padding({p.padBottom, p.padRight})
                               .set_stride({p.strideH, p.strideW})
                               .set_dilation({p.dilationH, p.dilationW}));
  state_->y->set_output(true).set_dim({p.n, p.k, p.p(), p.q()}).set_stride({p.k * p.p() * p.q(), 1, p.k * p.q(), p.k});
  const auto must = [](fe::error_t status, const char* what) {
    if (status.is_bad()) fail(std::string(what) + ": " + status.get_message());
  };
  must(g.validate(), "cuDNN graph");
  must(g.build_operation_graph(handle()), "cuDNN operation graph");
  must(g.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::B, fe::HeurMode_t::FALLBACK}), "cuDNN plans");
}
Convolution::~Convolution() = default;

int64_t Convolution::plans() const { return state_->graph.get_execution_plan_count(); }

bool Convolution::build(int64_t index, size_t mostWorkspace, double& buildTime) {
  const auto start = std::chrono::steady_clock::now();
  const bool good = state_->graph.build_plan_at_index(handle(), index).is_good();
  buildTime = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return good && workspaceBytes(index) <= mostWorkspace;
}
size_t Convolution::workspaceBytes(int64_t index) const {
  return static_cast<size_t>(std::max<int64_t>(0, state_->graph.get_workspace_size_plan_at_index(index)));
}
std::string Convolution::name(int64_t index) const {
  std::string name;
  if (state_->graph.get_plan_name_at_index(index, name).is_bad()) return "?";
  return name;
}

bool Convolution::run(int64_t index, CUdeviceptr input, CUdeviceptr filter, CUdeviceptr output, CUdeviceptr workspace,
                      CUstream stream) {
  if (fe::detail::set_stream(handle(), reinterpret_cast<cudaStream_t>(stream)) != CUDNN_STATUS_SUCCESS) return false;
  std::unordered_map<std::shared_ptr<fe::graph::Tensor_attributes>, void*> tensors = {{state_->x, reinterpret_cast<void*>(input)},
                                                                                      {state_->w, reinterpret_cast<void*>(filter)},
                                                                                      {state_->y, reinterpret_cast<void*>(output)}};
  return state_->graph.execute_plan_at_index(handle(), tensors, reinterpret_cast<void*>(workspace), index).is_good();
}

}  // namespace shiftconv::cudnn
