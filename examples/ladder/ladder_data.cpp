// ladder_data STEP [SEED]: writes what a step of the ladder reads into the current folder, and expected.npy, which its result has
// to equal byte for byte. The reference goes through taps and channels one by one; it knows nothing of lanes.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/emulator/tools/ptxrun/npy.hpp"
#include "common/numerics/codec.hpp"
#include "common/numerics/number_types.hpp"

namespace {

using ptxrun::Array;
using shiftconv::numerics::NumberType;

/// Numbers in an order given by `shape`, outermost first. All are small multiples of a quarter, so that every sum is exact in f32,
/// whatever its order.
struct Tensor {
  std::vector<uint64_t> shape;
  std::vector<double> values;

  explicit Tensor(std::vector<uint64_t> extents) : shape(std::move(extents)), values(ptxrun::elementCount(shape)) {}
  /// The number at these indices of the outer dimensions, and the ones after it.
  double* at(std::initializer_list<uint64_t> indices) {
    uint64_t place = 0;
    size_t dimension = 0;
    for (const uint64_t index : indices) place = place * shape[dimension++] + index;
    for (; dimension < shape.size(); ++dimension) place *= shape[dimension];
    return values.data() + place;
  }
};

class Data {
 public:
  explicit Data(uint64_t seed) : random_(seed) {}

  Tensor whole(std::vector<uint64_t> shape) {
    Tensor tensor(std::move(shape));
    for (double& value : tensor.values) value = static_cast<double>(random_() % 9) - 4;
    return tensor;
  }
  /// 1/2, 1 or 2.
  Tensor powersOfTwo(std::vector<uint64_t> shape) {
    Tensor tensor(std::move(shape));
    for (double& value : tensor.values) value = 0.5 * static_cast<double>(1u << random_() % 3);
    return tensor;
  }

 private:
  std::mt19937_64 random_;
};

/// Codes of 8 bits become u8 arrays.
void write(const std::string& file, const Tensor& tensor, NumberType type) {
  const bool isF32 = type == NumberType::F32, isF16 = type == NumberType::F16;
  Array array{isF32 ? "f32" : isF16 ? "f16" : "u8", tensor.shape, {}};
  const size_t bytes = ptxrun::elementBytes(array.type);
  array.data.resize(tensor.values.size() * bytes);
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    const uint32_t code = shiftconv::numerics::encode(type, tensor.values[i]);
    std::memcpy(array.data.data() + i * bytes, &code, bytes);
  }
  ptxrun::writeArray(file, array);
}

/// a[M][K] * b[N][K]^T.
Tensor product(Tensor& a, Tensor& b) {
  Tensor d({a.shape[0], b.shape[0]});
  for (uint64_t m = 0; m < a.shape[0]; ++m)
    for (uint64_t n = 0; n < b.shape[0]; ++n)
      for (uint64_t k = 0; k < a.shape[1]; ++k) *d.at({m, n}) += a.at({m})[k] * b.at({n})[k];
  return d;
}

/// x[N][H][W][C] with w[K][3][3][C], padding 1.
Tensor convolution(Tensor& x, Tensor& w) {
  const uint64_t height = x.shape[1], width = x.shape[2], channels = x.shape[3];
  Tensor y({x.shape[0], height, width, w.shape[0]});
  for (uint64_t n = 0; n < x.shape[0]; ++n)
    for (uint64_t p = 0; p < height; ++p)
      for (uint64_t q = 0; q < width; ++q)
        for (uint64_t k = 0; k < w.shape[0]; ++k)
          for (uint64_t r = 0; r < 3; ++r)
            for (uint64_t s = 0; s < 3; ++s) {
              if (p + r < 1 || p + r > height || q + s < 1 || q + s > width) continue;
              const double* pixel = x.at({n, p + r - 1, q + s - 1});
              const double* tap = w.at({k, r, s});
              for (uint64_t c = 0; c < channels; ++c) *y.at({n, p, q, k}) += pixel[c] * tap[c];
            }
  return y;
}

void writeProduct(Data& data, uint64_t m, uint64_t n, uint64_t k) {
  Tensor a = data.whole({m, k}), b = data.whole({n, k});
  write("a.npy", a, NumberType::F16);
  write("b.npy", b, NumberType::F16);
  write("expected.npy", product(a, b), NumberType::F32);
}

void writeConvolution(Data& data, uint64_t images, uint64_t height, uint64_t width, uint64_t outputs) {
  Tensor x = data.whole({images, height, width, 64}), w = data.whole({outputs, 3, 3, 64});
  write("x.npy", x, NumberType::F16);
  write("w.npy", w, NumberType::F16);
  write("expected.npy", convolution(x, w), NumberType::F32);
}

void writeScaledConvolution(Data& data) {
  constexpr uint64_t kBlock = 32, kBlocks = 4;
  const auto writeOperand = [&](const std::string& name, std::vector<uint64_t> shape) {
    Tensor operand = data.whole(shape);
    write(name + ".npy", operand, NumberType::E4M3);
    shape.back() = kBlocks;
    const Tensor scales = data.powersOfTwo(shape);
    write(name + "_scales.npy", scales, NumberType::UE8M0);
    for (size_t i = 0; i < operand.values.size(); ++i) operand.values[i] *= scales.values[i / kBlock];
    return operand;
  };
  Tensor x = writeOperand("x", {2, 3, 60, kBlock * kBlocks}), w = writeOperand("w", {32, 3, 3, kBlock * kBlocks});
  write("expected.npy", convolution(x, w), NumberType::F32);
}

void writeStep(const std::string& step, uint64_t seed) {
  Data data(seed);
  if (step == "1") return writeProduct(data, 128, 16, 16);
  if (step == "2") return writeProduct(data, 256, 16, 320);
  if (step == "3" || step == "4") return writeConvolution(data, 2, 9, 9, 16);
  if (step == "5") return writeConvolution(data, 4, 3, 60, 32);
  if (step == "6") return writeScaledConvolution(data);
  if (step == "7") return writeConvolution(data, 1, 8, 32, 64);
  throw std::invalid_argument(fmt::format("there is no step '{}': 1 to 7", step));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    fmt::print(stderr, "usage: ladder_data STEP [SEED]\n");
    return 1;
  }
  try {
    const uint64_t seed = argc == 3 ? std::stoull(argv[2]) : 1;
    writeStep(argv[1], seed);
    fmt::print("data of step {}, seed {}\n", argv[1], seed);
  } catch (const std::exception& error) {
    fmt::print(stderr, "ladder_data: {}\n", error.what());
    return 1;
  }
  return 0;
}
