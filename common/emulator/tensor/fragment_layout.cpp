#include "common/emulator/tensor/fragment_layout.hpp"

#include <array>

namespace shiftconv::emulator::tensor {

namespace {
constexpr std::array<FragmentTraits, static_cast<size_t>(FragmentShape::Count)> kTraits{{
    {"32x32b", 32, 1, 1, 128},
    {"16x64b", 16, 1, 2, 128},
    {"16x128b", 16, 2, 4, 64},
    {"16x256b", 16, 4, 8, 32},
    {"16x32bx2", 16, 1, 1, 128},
}};
}  // namespace

const FragmentTraits& fragmentTraits(FragmentShape shape) { return kTraits[static_cast<size_t>(shape)]; }

std::optional<FragmentShape> fragmentShape(std::string_view name) {
  for (size_t i = 0; i < kTraits.size(); ++i) {
    if (kTraits[i].name == name) return static_cast<FragmentShape>(i);
  }
  return std::nullopt;
}

FragmentCell fragmentCell(FragmentShape shape, uint32_t t, uint32_t r) {
  const auto cell = [](uint32_t lane, uint32_t column, bool second = false) {
    return FragmentCell{static_cast<uint8_t>(lane), second, static_cast<uint16_t>(column)};
  };
  switch (shape) {
    case FragmentShape::S32x32b:
      return cell(t, r);
    case FragmentShape::S16x64b:
      return cell(t / 4 + 8 * (t & 1), 2 * r + (t >> 1 & 1));
    case FragmentShape::S16x128b:
      return cell(t / 4 + 8 * (r & 1), (t & 3) + 4 * (r >> 1));
    case FragmentShape::S16x256b:
      return cell(t / 4 + 8 * (r >> 1 & 1), 2 * (t & 3) + (r & 1) + 8 * (r >> 2));
    case FragmentShape::S16x32bx2:
      return cell(t % 16, r, t >= 16);
    case FragmentShape::Count:
      break;
  }
  return {};
}

}  // namespace shiftconv::emulator::tensor
