#include "tests/gemm/gemm_runner.hpp"

#include <stdexcept>

#include "common/emulator/tma/tensor_map.hpp"
#include "common/gemm/sm100/gemm.hpp"
#include "tests/support/kernel_trials.hpp"
#include "tests/support/one_kernel.hpp"

namespace shiftconv::tests {

device::Properties fewMultiprocessors(uint32_t count) {
  device::Properties properties;
  properties.name = "emulated sm_100a";
  properties.computeMajor = 10;
  properties.multiprocessors = count;
  properties.sharedBytesPerBlock = 227 * 1024;
  return properties;
}

GemmRunner::GemmRunner(std::string_view ptx) : ptx_(ptx) {}

Observation GemmRunner::run(const GemmCase& gemm, const gemm::sm100::GemmPlan& plan, const emulator::Options& options,
                            int launches) {
  auto& module = modules_[plan.kernelName];
  if (!module) module = loadOneKernel(emulator_, ptx_, plan.kernelName);
  DeviceRun device(emulator_, *module, plan.kernelName, observe_);
  gemm::sm100::GemmTensors tensors;
  tensors.a = device.upload(gemm.a().elements);
  tensors.b = device.upload(gemm.b().elements);
  if (gemm.problem().blockSize != 0) {
    tensors.scaleA = device.upload(gemm.a().scales);
    tensors.scaleB = device.upload(gemm.b().scales);
  }
  tensors.output = device.upload(std::vector<std::byte>(gemm.outputBytes(), std::byte{0xCD}));
  // Partial sums are never read before they are written; counters start at zero.
  if (plan.partialBytes != 0) {
    tensors.workspace = device.reserve(plan.partialBytes + plan.counterBytes);
    device.overwrite(tensors.workspace + plan.partialBytes, std::vector<std::byte>(plan.counterBytes));
  }

  gemm::sm100::GemmMaps maps;
  gemm::sm100::GemmParams params;
  const std::string why = bindAddresses(
      plan, tensors, [](const auto& description, auto& map) { return emulator::tma::encodeTiled(description, map); }, maps, params);
  if (!why.empty()) throw std::invalid_argument(why);
  const void* arguments[] = {&maps, &params};
  Observation seen;
  for (int i = 0; i < launches; ++i) {
    Observation more = device.launch(plan.launch, arguments, options);
    seen.hazards.insert(seen.hazards.end(), more.hazards.begin(), more.hazards.end());
    seen.counters = std::move(more.counters);
  }
  seen.difference = gemm.judge(device.download<std::byte>(tensors.output, gemm.outputBytes()));
  return seen;
}

}  // namespace shiftconv::tests
