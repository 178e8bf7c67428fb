#include "common/emulator/wgmma/warpgroup_unit.hpp"

namespace shiftconv::emulator::wgmma {

WarpgroupUnit::~WarpgroupUnit() = default;

WarpgroupUnit::Touches& WarpgroupUnit::touches(machine::Warp& warp) {
  std::unique_ptr<Touches>& entry = touches_[warp.index];
  if (entry == nullptr) {
    entry = std::make_unique<Touches>();
    warp.registerWatch = entry.get();
  }
  return *entry;
}

void WarpgroupUnit::Touches::touched(const std::byte* frame, const program::CompiledFunction& function, uint32_t pc) {
  if (function_ != &function) {
    function_ = &function;
    slots_.clear();
    for (const program::DecodedInstruction& instruction : function.code) {
      if (!instruction.ordersRegisters) continue;
      const auto& product = instruction.as<Product>();
      slots_.insert(product.d.begin(), product.d.end());
      if (product.aInRegisters) slots_.insert(product.a.begin(), product.a.end());
    }
  }
  if (slots_.empty() || function.code[pc].ordersRegisters) return;
  for (uint32_t i = pc == 0 ? 0 : function.registerUseEnd[pc - 1]; i < function.registerUseEnd[pc]; ++i) {
    const program::Slot slot = function.registerUses[i];
    if (slots_.contains(slot)) last_[frame + slot] = function.code[pc].source;
  }
}

const ptx::Instruction* WarpgroupUnit::Touches::toucher(const std::byte* reg) const {
  const auto found = last_.find(reg);
  return found == last_.end() ? nullptr : found->second;
}

}  // namespace shiftconv::emulator::wgmma
