// A checksum for what the library stores.
#pragma once

#include <cstdint>
#include <string_view>

namespace shiftconv::plan {

/// FNV-1a of 64 bits: notices damage, not malice. Every step is a bijection of the state, so that one wrong byte never goes unseen.
inline uint64_t checksum(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325ull;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  return hash;
}

}  // namespace shiftconv::plan
