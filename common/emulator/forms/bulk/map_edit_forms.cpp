// tensormap.replace (PTX ISA 9.0, 9.7.9.26). Copying the edited map to global memory and the fences are with the fences.
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <memory>

#include "common/emulator/error.hpp"
#include "common/emulator/forms/bulk/bulk_operands.hpp"
#include "common/emulator/forms/bulk/bulk_tensor_forms.hpp"
#include "common/emulator/forms/threads/memory_operand.hpp"
#include "common/emulator/isa/decoder.hpp"
#include "common/emulator/machine/lane_access.hpp"
#include "common/emulator/machine/racing_copy.hpp"
#include "common/emulator/tma/tensor_map_edit.hpp"

namespace shiftconv::emulator::tma {
namespace {

using isa::DecodeContext;
using isa::FormMatch;
using machine::DecodedInstruction;
using machine::Execution;

struct FieldRow {
  std::string_view name;
  MapField field;
  uint32_t ordinals = 0;  ///< how many dimensions have the field; 0: it is one value
  bool wide = false;      ///< .b64
  bool constant = false;  ///< the value must be an immediate
};

constexpr std::array<FieldRow, 11> kFields{{{.name = "global_address", .field = MapField::GlobalAddress, .wide = true},
                                            {.name = "rank", .field = MapField::Rank},
                                            {.name = "box_dim", .field = MapField::BoxDim, .ordinals = 5},
                                            {.name = "global_dim", .field = MapField::GlobalDim, .ordinals = 5},
                                            {.name = "global_stride", .field = MapField::GlobalStride, .ordinals = 4, .wide = true},
                                            {.name = "element_stride", .field = MapField::ElementStride, .ordinals = 5},
                                            {.name = "elemtype", .field = MapField::ElementType, .constant = true},
                                            {.name = "interleave_layout", .field = MapField::InterleaveLayout, .constant = true},
                                            {.name = "swizzle_mode", .field = MapField::SwizzleMode, .constant = true},
                                            {.name = "swizzle_atomicity", .field = MapField::SwizzleAtomicity, .constant = true},
                                            {.name = "fill_mode", .field = MapField::FillMode, .constant = true}}};

struct MapEdit : machine::InstructionDetail {
  machine::MemoryOperand map;
  const FieldRow* row = nullptr;
  uint32_t ordinal = 0;
  machine::Slot value = machine::kNoSlot;
};

void runReplace(Execution& execution, const DecodedInstruction& instruction) {
  const auto& edit = instruction.as<MapEdit>();
  machine::LanePointers pointers;
  machine::resolve(execution, execution.mask, edit.map, sizeof(TensorMapImage), machine::AccessKind::ReadWrite, pointers);
  forEachLane(execution, [&](unsigned lane) {
    const uint64_t value =
        edit.row->wide ? execution.lanes<uint64_t>(edit.value)[lane] : execution.lanes<uint32_t>(edit.value)[lane];
    TensorMapImage image;
    machine::racingCopy(reinterpret_cast<std::byte*>(&image), pointers[lane], sizeof image);
    const std::string fault = replaceField(image, edit.row->field, edit.ordinal, value);
    if (!fault.empty())
      throw EmulatorError(ErrorKind::Descriptor, fmt::format("tensormap.replace of {} (lane {}): {}", edit.row->name, lane, fault));
    machine::racingCopy(pointers[lane], reinterpret_cast<const std::byte*>(&image), sizeof image);
  });
}

void decodeReplace(DecodeContext& context, const FormMatch& match) {
  auto edit = std::make_shared<MapEdit>();
  for (const FieldRow& row : kFields)
    if (match.has(row.name)) edit->row = &row;
  const FieldRow& row = *edit->row;
  OperandCursor operands(context);
  edit->map = machine::memoryOperand(context, operands.next("tensor map"),
                                     match.has("global")        ? "global"
                                     : match.has("shared::cta") ? "shared::cta"
                                                                : "");
  if (row.ordinals > 0) {
    const uint64_t ordinal = context.integer(operands.next("ordinal"));
    if (ordinal >= row.ordinals) context.illegal(fmt::format("ordinal {} of {} is not below {}", ordinal, row.name, row.ordinals));
    edit->ordinal = static_cast<uint32_t>(ordinal);
  }
  const ptx::Operand& value = operands.next("new value");
  if (row.constant) context.integer(value);
  edit->value = context.source(value, row.wide ? ptx::ScalarType::B64 : ptx::ScalarType::B32);
  operands.finish();
  context.out().handler = runReplace;
  context.out().detail = std::move(edit);
}

}  // namespace

isa::FormFamily mapEditForms() {
  return {
      {"tensormap.replace.tile.(global_address|global_stride){.(global|shared::cta)}.b1024.b64", decodeReplace},
      {"tensormap.replace.tile.(rank|box_dim|global_dim|element_stride){.(global|shared::cta)}.b1024.b32", decodeReplace},
      {"tensormap.replace.tile.(elemtype|interleave_layout|swizzle_mode|swizzle_atomicity|fill_mode){.(global|shared::cta)}"
       ".b1024.b32",
       decodeReplace},
  };
}

}  // namespace shiftconv::emulator::tma
