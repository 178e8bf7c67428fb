// Instructions that exist but that this machine refuses: why, for messages and for documentation.
#pragma once

#include <string_view>
#include <vector>

#include "common/emulator/ptx/module.hpp"

namespace shiftconv::emulator::isa {

enum class Refusal : uint8_t {
  Illegal,         ///< no target of this machine has it
  NotImplemented,  ///< legal, but missing here
};

struct RefusedForm {
  std::string_view opcode;
  /// One of these modifiers must be present; none: the opcode alone decides.
  std::vector<std::string_view> modifiers;
  Refusal refusal;
  std::string_view reason;                    ///< a clause that can stand alone
  std::vector<std::string_view> beside = {};  ///< if any: one of these must be present, too
};

const std::vector<RefusedForm>& refusedForms();

/// The row that tells why an instruction without a form is refused, or nullptr when it is simply unknown.
const RefusedForm* findRefusal(const ptx::Instruction& instruction);

}  // namespace shiftconv::emulator::isa
