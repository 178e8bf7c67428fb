#include "common/emulator/isa/refused_forms.hpp"

#include <algorithm>

namespace shiftconv::emulator::isa {

const std::vector<RefusedForm>& refusedForms() {
  constexpr Refusal kIllegal = Refusal::Illegal;
  constexpr Refusal kMissing = Refusal::NotImplemented;
  constexpr std::string_view kOldWarp = "the form without .sync ended with sm_70";
  constexpr std::string_view kTexture = "textures and surfaces are not modelled";
  constexpr std::string_view kVideo = "video instructions are not implemented";
  static const std::vector<RefusedForm> forms = {
      {"wgmma", {"sp"}, kMissing, "sparse operands are not implemented"},
      {"shfl", {}, kIllegal, kOldWarp},
      {"vote", {}, kIllegal, kOldWarp},
      {"tcgen05",
       {"sp"},
       kMissing,
       "sparse operands with block scales, .ws or .ashift are not implemented",
       {"block_scale", "ws", "ashift"}},
      {"tcgen05", {"red"}, kMissing, "loads that reduce are not implemented"},
      {"mma", {}, kMissing, "of the products of register fragments those of kind::f8f6f4 and with block scales are missing"},
      {"cp",
       {"im2col::w", "im2col::w::128"},
       kMissing,
       "which pixels follow the end of a line, and which ones the halo rows hold, is not documented in words"},
      {"cvt",
       {"e4m3x4", "e5m2x4", "e2m3x4", "e3m2x4", "e2m1x4"},
       kMissing,
       "two values share 16 random bits, and the text does not say which discarded bits those are added to"},
      {"multimem", {}, kMissing, "multicast objects of several GPUs are not modelled"},
      {"tex", {}, kMissing, kTexture},
      {"tld4", {}, kMissing, kTexture},
      {"txq", {}, kMissing, kTexture},
      {"istypep", {}, kMissing, kTexture},
      {"suld", {}, kMissing, kTexture},
      {"sust", {}, kMissing, kTexture},
      {"sured", {}, kMissing, kTexture},
      {"suq", {}, kMissing, kTexture},
      {"alloca", {}, kMissing, "the stack of a thread cannot be changed"},
      {"stacksave", {}, kMissing, "the stack of a thread cannot be changed"},
      {"stackrestore", {}, kMissing, "the stack of a thread cannot be changed"},
      {"vadd", {}, kMissing, kVideo},
      {"vsub", {}, kMissing, kVideo},
      {"vabsdiff", {}, kMissing, kVideo},
      {"vmin", {}, kMissing, kVideo},
      {"vmax", {}, kMissing, kVideo},
      {"vshl", {}, kMissing, kVideo},
      {"vshr", {}, kMissing, kVideo},
      {"vmad", {}, kMissing, kVideo},
      {"vset", {}, kMissing, kVideo},
  };
  return forms;
}

const RefusedForm* findRefusal(const ptx::Instruction& instruction) {
  const auto present = [&](std::string_view modifier) {
    return std::find(instruction.modifiers.begin(), instruction.modifiers.end(), modifier) != instruction.modifiers.end();
  };
  const auto hasOneOf = [&](const std::vector<std::string_view>& modifiers) {
    return modifiers.empty() || std::any_of(modifiers.begin(), modifiers.end(), present);
  };
  for (const RefusedForm& form : refusedForms())
    if (form.opcode == instruction.opcode && hasOneOf(form.modifiers) && hasOneOf(form.beside)) return &form;
  return nullptr;
}

}  // namespace shiftconv::emulator::isa
