// For builds without cuDNN's headers: nothing of cudnn_side.hpp can be had.
#include <fmt/format.h>

#include <cstdlib>

#include "bench/conv/gpu/cudnn_side.hpp"

namespace shiftconv::cudnn {
namespace {

const std::string kRefusal = "this program was built without the headers of cuDNN (SHIFTCONV_CUDNN_FRONTEND_INCLUDE)";

}  // namespace

struct Convolution::State {};

bool available() { return false; }

std::string load(const std::string& path) {
  fmt::print(stderr, "cannot use {}: {}\n", path, kRefusal);
  std::exit(2);
}

Convolution::Convolution(const Problem&, Types, Plain) {}
Convolution::~Convolution() = default;

const std::string& Convolution::refusal() const { return kRefusal; }
double Convolution::queryTime() const { return 0; }
int64_t Convolution::plans() const { return 0; }
std::vector<Engine> Convolution::engines() const { return {}; }
std::optional<int64_t> Convolution::add(int64_t, const KnobValues&) { return {}; }
bool Convolution::build(int64_t, size_t, double&) { return false; }
size_t Convolution::workspaceBytes(int64_t) const { return 0; }
std::string Convolution::name(int64_t) const { return {}; }
bool Convolution::run(int64_t, const Tensors&, CUdeviceptr, CUstream) const { return false; }

}  // namespace shiftconv::cudnn
