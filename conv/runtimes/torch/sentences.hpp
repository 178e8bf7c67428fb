// How refusals are worded.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace shiftconv::torch_glue {

/// Throws what PyTorch makes a ValueError or RuntimeError: "shiftconv: <argument> must ...".
template <class... Texts>
[[noreturn]] void refuse(const char* argument, const Texts&... texts) {
  std::string sentence = std::string("shiftconv: ") + argument;
  ((sentence += texts), ...);
  throw std::invalid_argument(sentence);
}

/// "(2, 64, 56, 56)"
inline std::string listOf(std::span<const int64_t> numbers) {
  std::string text = "(";
  for (const int64_t number : numbers) text += (text.size() > 1 ? ", " : "") + std::to_string(number);
  return text + ")";
}

/// What PyTorch calls the layout with channels next to each other.
inline const char* layoutName(size_t rank) { return rank == 5 ? "channels_last_3d" : "channels_last"; }

inline std::string copyIntoLayout(size_t rank) {
  if (rank == 3) return ".transpose(1, 2).contiguous().transpose(1, 2)";
  return std::string(".contiguous(memory_format=torch.") + layoutName(rank) + ")";
}

}  // namespace shiftconv::torch_glue
