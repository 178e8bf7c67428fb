#include "common/emulator/forms/threads/memory_operand.hpp"

#include <fmt/format.h>

namespace shiftconv::emulator::machine {

MemoryOperand memoryOperand(isa::DecodeContext& context, const ptx::Operand& operand, std::string_view space) {
  const isa::DecodeContext::Address address = context.address(operand);
  MemoryOperand result;
  result.address = LaneAddress(address);
  const ptx::StateSpace symbol = address.symbolSpace;
  const auto require = [&](bool fits) {
    if (!fits) context.illegal(fmt::format("the variable is not in the state space .{} that the instruction names", space));
  };
  if (space.empty()) {
    if (symbol == ptx::StateSpace::Shared || symbol == ptx::StateSpace::Local || symbol == ptx::StateSpace::Param)
      context.illegal("a generic access needs a generic address: use cvta on the variable, or name its state space");
  } else if (space == "global" || space == "const") {
    require(symbol == ptx::StateSpace::None || symbol == ptx::StateSpace::Global || symbol == ptx::StateSpace::Const);
    result.space = AccessSpace::Global;
  } else if (space == "shared" || space == "shared::cta" || space == "shared::cluster") {
    require(symbol == ptx::StateSpace::None || symbol == ptx::StateSpace::Shared);
    result.space = space == "shared::cluster" ? AccessSpace::SharedCluster : AccessSpace::SharedCta;
  } else if (space == "local") {
    require(symbol == ptx::StateSpace::None || symbol == ptx::StateSpace::Local);
    result.space = AccessSpace::Local;
  } else {  // param, param::entry, param::func
    require(symbol != ptx::StateSpace::Shared && symbol != ptx::StateSpace::Global && symbol != ptx::StateSpace::Const);
    const bool ofKernel = context.function().isKernel && symbol != ptx::StateSpace::Local && space != "param::func";
    result.space = ofKernel ? AccessSpace::KernelParameter : AccessSpace::Local;
  }
  return result;
}

}  // namespace shiftconv::emulator::machine
