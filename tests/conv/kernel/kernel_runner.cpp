#include "tests/conv/kernel/kernel_runner.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "common/emulator/tma/tensor_map.hpp"

namespace shiftconv::tests {
namespace {

/// Device memory for the length of one run.
class Buffer {
 public:
  Buffer(emulator::machine::GlobalMemory& memory, size_t bytes)
      : memory_(memory), bytes_(std::max<size_t>(bytes, 1)), address_(memory.allocate(bytes_)) {}
  Buffer(emulator::machine::GlobalMemory& memory, const void* data, size_t bytes) : Buffer(memory, bytes) {
    if (bytes != 0) std::memcpy(memory.access(address_, bytes, 1, true), data, bytes);
  }
  ~Buffer() { memory_.release(address_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  uint64_t address() const { return address_; }
  std::byte* data() const { return memory_.access(address_, bytes_, 1, true); }

 private:
  emulator::machine::GlobalMemory& memory_;
  size_t bytes_;
  uint64_t address_;
};

emulator::tma::TensorMapImage encode(device::TiledMap map, uint64_t address) {
  map.globalAddress = address;
  emulator::tma::TensorMapImage image;
  if (const std::string why = emulator::tma::encodeTiled(map, image); !why.empty()) throw std::invalid_argument(why);
  return image;
}

}  // namespace

device::Properties smallBlackwell(uint32_t multiprocessors) {
  device::Properties properties;
  properties.name = "emulated sm_100a";
  properties.computeMajor = 10;
  properties.multiprocessors = multiprocessors;
  properties.sharedBytesPerBlock = 227 * 1024;
  return properties;
}

KernelRunner::KernelRunner(std::string_view ptx) : module_(emulator_.load(ptx, "shift_window")) {}

KernelRun KernelRunner::run(const Problem& problem, const ConvolutionInputs& inputs, plan::ShiftWindowChoices choices,
                            const emulator::Options& options) {
  const device::Properties properties = smallBlackwell();
  if (const std::string why = plan::shiftWindowRefusal(problem, properties); !why.empty()) throw std::invalid_argument(why);
  choices.pair = choices.pair.value_or(false);
  plan::ShiftWindowPlan plan;
  if (const std::string why = plan::planShiftWindow(problem, properties, choices, plan); !why.empty())
    throw std::invalid_argument(why);

  auto& memory = emulator_.memory();
  const size_t outputBytes =
      static_cast<size_t>(problem.n * problem.p() * problem.q() * problem.outputPitch()) * bytesOf(problem.outputType);
  const Buffer activations(memory, inputs.activations.data(), inputs.activations.size() * sizeof(uint16_t));
  const Buffer filter(memory, inputs.filter.data(), inputs.filter.size() * sizeof(uint16_t));
  const Buffer bias(memory, inputs.bias.data(), inputs.bias.size() * sizeof(float));
  const Buffer output(memory, outputBytes);
  std::memset(output.data(), 0xCD, outputBytes);

  plan.params.epilogue.output = reinterpret_cast<void*>(output.address());
  plan.params.epilogue.bias = problem.hasBias ? reinterpret_cast<const float*>(bias.address()) : nullptr;
  const auto inputMap = encode(plan.input, activations.address());
  const auto filterMap = encode(plan.filter, filter.address());
  const auto outputMap = plan.output.rank != 0 ? encode(plan.output, output.address()) : inputMap;
  const void* arguments[] = {&inputMap, &filterMap, &outputMap, &plan.params};

  KernelRun run;
  emulator::LaunchReport report = emulator_.launch(*module_, plan.kernelName, plan.launch, arguments, options);
  run.counters = std::move(report.counters);
  run.hazards = std::move(report.hazards);
  run.output.assign(output.data(), output.data() + outputBytes);
  return run;
}

}  // namespace shiftconv::tests
