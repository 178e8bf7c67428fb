#include "conv/plan/input_parts.hpp"

namespace shiftconv::plan {

using kernels::InputPart;

std::array<InputPart, 2> inputParts(const Problem& p) {
  const int64_t bytes = bytesOf(p.inputType);
  const auto i = [](int64_t value) { return static_cast<int32_t>(value); };
  std::array<InputPart, 2> parts;
  parts[0] = {nullptr, p.inputPitch() * bytes, 0, i(p.firstDepth()), 0, i(p.firstChannels())};
  if (p.isSplit())
    parts[1] = {nullptr, p.secondPitch() * bytes, i(p.splitD), i(p.secondDepth()), i(p.splitC), i(p.secondChannels())};
  return parts;
}

void bindInputParts(const Problem& p, Parameter& parameter, size_t offset) {
  parameter.address(offset + offsetof(InputPart, address), {TensorName::Input});
  if (p.isSplit()) parameter.address(offset + sizeof(InputPart) + offsetof(InputPart, address), {TensorName::SecondInput});
}

}  // namespace shiftconv::plan
