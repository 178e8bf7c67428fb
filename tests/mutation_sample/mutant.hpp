// What a switched mutant asks: is it the one that SHIFTCONV_MUTANT chooses? The first time, it also notes its number in the file that
// SHIFTCONV_MUTANTS_REACHED names, so that only tests that reach a mutant have to judge it.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <type_traits>

namespace shiftconv::mutation {

inline int chosen() {
  static const int number = [] {
    const char* text = std::getenv("SHIFTCONV_MUTANT");
    return text == nullptr ? -1 : std::atoi(text);
  }();
  return number;
}

/// One write of a whole line: processes share the file.
inline void note(int number) {
  const char* path = std::getenv("SHIFTCONV_MUTANTS_REACHED");
  if (path == nullptr) return;
  const int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return;
  const std::string line = std::to_string(number) + "\n";
  if (write(file, line.data(), line.size()) < 0) std::abort();
  close(file);
}

template <int kNumber>
bool reached() {
  static std::atomic<bool> known{false};
  if (!known.exchange(true)) note(kNumber);
  return chosen() == kNumber;
}

/// Constant expressions stay as they are: nothing switches them at run time.
template <int kNumber>
constexpr bool isOn() {
  if (std::is_constant_evaluated()) return false;
  return reached<kNumber>();
}

}  // namespace shiftconv::mutation
