#include "common/emulator/wgmma/warpgroup_unit.hpp"

#include <algorithm>
#include <span>

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

namespace {

bool share(std::span<const program::Slot> some, std::span<const program::Slot> others) {
  return std::any_of(some.begin(), some.end(),
                     [&](program::Slot slot) { return std::find(others.begin(), others.end(), slot) != others.end(); });
}

bool isUnordered(const Product& first, const Product& second) {
  const bool oneShape = first.shape.columns == second.shape.columns && first.shape.depth == second.shape.depth;
  return (!oneShape && share(first.d, second.d)) || (second.aInRegisters && share(first.d, second.a)) ||
         (first.aInRegisters && share(first.a, second.d));
}

}  // namespace

const ptx::Instruction* WarpgroupUnit::Touches::unorderedWith(const std::byte* frame,
                                                              const program::DecodedInstruction& instruction) {
  const Done now{frame, &instruction};
  if (std::find(products_.begin(), products_.end(), now) != products_.end()) return nullptr;
  const auto found = std::find_if(products_.begin(), products_.end(), [&](const Done& earlier) {
    return earlier.frame == frame && isUnordered(earlier.instruction->as<Product>(), instruction.as<Product>());
  });
  const ptx::Instruction* const source = found == products_.end() ? nullptr : found->instruction->source;
  products_.push_back(now);
  return source;
}

}  // namespace shiftconv::emulator::wgmma
