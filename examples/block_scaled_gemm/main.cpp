// block_scaled_gemm: what a product of two matrices loses in each number format of Blackwell's tensor cores.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "common/device/registry.hpp"
#include "examples/block_scaled_gemm/contest.hpp"
#include "examples/block_scaled_gemm/options.hpp"

namespace {

using namespace block_scaled_gemm;
using shiftconv::Status;
using shiftconv::StatusCode;
using shiftconv::layout::ScaleFactorLayout;
namespace device = shiftconv::device;

/// The one named, by --device or the environment; else a GPU, and where there is none the emulated device, with a word on why.
shiftconv::Status openDevice(const std::string& text, std::unique_ptr<device::Device>& opened) {
  device::DeviceName name;
  if (!text.empty())
    if (const Status status = device::parseDeviceName(text, name); !status.ok())
      return {status.code(), "--device " + status.message()};
  if (!name.kind)
    if (Status status = device::readDeviceVariable(name); !status.ok()) return status;
  if (name.kind) return device::openDevice(name, opened);
  const Status status = device::openGpu(device::kTensorMemory, opened);
  if (status.code() != StatusCode::NotFound || !text.empty()) return status;
  fmt::print("Taking the emulated device: {}\n", status.message());
  return device::openDevice(device::Kind::Emulated, 0, opened);
}

std::vector<ScaleFactorLayout> layoutsOf(const std::string& scales) {
  if (scales == "rows") return {ScaleFactorLayout::RowMajor};
  if (scales == "interleaved") return {ScaleFactorLayout::Interleaved128x4};
  return {ScaleFactorLayout::RowMajor, ScaleFactorLayout::Interleaved128x4};
}

/// The columns of the table; text where a number says nothing.
void printRow(const std::string& name, const Contestant& contestant, const Measurement& m, size_t orders) {
  const bool plain = contestant.a.blockSize == 0;
  const std::string agreement = plain || orders < 2 ? "-" : m.layoutsAgree ? "same bits" : "DIFFER";
  fmt::print("{:<18}{:>6.2f}{:>12.3e}{:>12.3e}{:>12.3e}{:>11.2f} %  {}\n", name, m.bitsPerElement, m.formatError, m.worstError,
             m.kernelError, 100 * m.ofBound, agreement);
}

int run(const Options& options) {
  std::unique_ptr<device::Device> opened;
  if (const Status status = openDevice(options.device, opened); !status.ok()) {
    fmt::print(stderr, "block_scaled_gemm: {}\n", status.message());
    return status.code() == StatusCode::InvalidArgument ? ExitCode::Usage : ExitCode::DeviceFailure;
  }
  const Matrices matrices = randomMatrices(options.m, options.n, options.k, options.distribution, options.seed);
  const std::vector<double> exact = exactProduct(matrices);
  const std::vector<ScaleFactorLayout> layouts = layoutsOf(options.scales);

  fmt::print("{} x {} x {}, {} elements, seed {}, on {}\n\n", options.m, options.n, options.k, options.distribution, options.seed,
             opened->properties().name);
  fmt::print("{:<18}{:>6}{:>12}{:>12}{:>12}{:>13}  {}\n", "format", "bits", "error", "worst", "kernel", "of its bound",
             "scale orders");
  bool right = true;
  for (const Contestant& contestant : contestants()) {
    const auto& chosen = options.formats;
    if (!chosen.empty() && std::find(chosen.begin(), chosen.end(), contestant.name) == chosen.end()) continue;
    const Measurement measurement = measure(contestant, matrices, exact, layouts, *opened);
    printRow(contestant.name, contestant, measurement, layouts.size());
    right = right && measurement.ofBound <= 1 && measurement.layoutsAgree;
  }
  fmt::print(
      "\nbits: of an element, scale factors included. error, worst: of the exact product of the quantised matrices, root mean "
      "square\n"
      "and largest, relative to the root mean square of the product. kernel: what the device's sums add to that.\n");
  if (!right)
    fmt::print("FAULT: a product is further from the exact one than the kernel's error bound allows, or the orders differ.\n");
  return right ? ExitCode::Success : ExitCode::BoundExceeded;
}

}  // namespace

int main(int argc, char** argv) {
  const CommandLine line = parseCommandLine(argc, argv);
  if (line.exitCode) return *line.exitCode;
  try {
    return run(line.options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "block_scaled_gemm: {}\n", error.what());
    return ExitCode::DeviceFailure;
  }
}
