#include "common/gemm/sm100/gemm.hpp"
#include "common/gemm/sm100/role_names.hpp"

#include "gemm_sm100_image.hpp"

namespace shiftconv::gemm::sm100 {

Status Gemm::bind(device::Device& device, const GemmPlan& plan, const GemmTensors& tensors, Gemm& gemm) {
  Status status;
  const auto encode = [&](const layout::TiledMap& description, device::TensorMap& map) -> std::string {
    status = device.encodeTiled(description, map);
    return status.message();
  };
  if (std::string why = bindAddresses(plan, tensors, encode, gemm.maps_, gemm.params_); !why.empty())
    return status.ok() ? Status(StatusCode::InvalidArgument, std::move(why)) : status;
  const device::Module* module = nullptr;
  if (status = device.loadModule(images::gemm_sm100(), module); !status.ok()) return status;
  if (status = device.findKernel(*module, plan.kernelName, gemm.kernel_); !status.ok()) return status;
  device.nameWarps(*gemm.kernel_, warpRoles(plan.params.buildScales));
  gemm.device_ = &device;
  gemm.launch_ = plan.launch;
  return status;
}

Status Gemm::run(device::Stream stream) const {
  const void* const arguments[] = {&maps_, &params_};
  return device_->launch(*kernel_, launch_, arguments, stream);
}

}  // namespace shiftconv::gemm::sm100
