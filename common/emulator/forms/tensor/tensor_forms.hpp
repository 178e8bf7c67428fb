// The tcgen05 rows of the decoder's table, by subject, and what their handlers share.
//
// What PTX makes visible is refused when the instruction is decoded (ErrorKind::IllegalInstruction); what depends on
// register values is refused when it is issued; undefined or unreachable data when it completes.
#pragma once

#include <cstdint>

#include "common/emulator/forms/bulk/bulk_operands.hpp"
#include "common/emulator/isa/decoder.hpp"
#include "common/emulator/isa/form.hpp"
#include "common/emulator/tensor/tensor_state.hpp"

namespace shiftconv::emulator::tensor {

isa::FormFamily allocationForms();  // alloc dealloc relinquish_alloc_permit
isa::FormFamily fragmentForms();    // ld st wait
isa::FormFamily movementForms();    // cp shift
isa::FormFamily mmaForms();
isa::FormFamily commitForms();  // commit fence

inline uint32_t ctaGroupOf(const isa::FormMatch& match) { return match.has("cta_group::2") ? 2 : 1; }

/// A Tensor Memory address operand: [register] or [register + immediate].
tma::LaneAddress tensorAddress(isa::DecodeContext& context, const ptx::Operand& operand);
inline uint32_t addressWord(const tma::LaneAddress& address, const machine::Execution& execution, unsigned lane) {
  return static_cast<uint32_t>(address.at(execution, lane));
}

/// The value of a warp-uniform operand; throws EmulatorError IllegalInstruction when executing lanes disagree.
uint32_t uniformValue(const machine::Execution& execution, const uint32_t* lanes, const char* what);

/// Issues an operation under the ordering rules of ordering.hpp.
void issueOrdered(const machine::Execution& execution, unsigned lane, machine::OperationKind kind,
                  const OrderedOperation& operation, std::function<void()> complete);

/// Bit per cluster rank.
uint32_t ctaBits(const std::vector<machine::Cta*>& ctas);

}  // namespace shiftconv::emulator::tensor
