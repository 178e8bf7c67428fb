// One kernel of a module that holds many, so that whoever runs one need not decode the others.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace shiftconv::emulator::ptx {

/// Where the kernels of a module are in its text, which must stay where it is.
class KernelTexts {
 public:
  explicit KernelTexts(std::string_view ptx);

  bool has(std::string_view kernel) const;
  /// The text without the entries of other kernels and without debug sections; what is left keeps its line numbers. Throws
  /// std::invalid_argument when the module has no such kernel.
  std::string with(std::string_view kernel) const;

 private:
  struct Entry {
    std::string_view name;
    size_t begin, end, lines;
  };
  std::string_view ptx_;  ///< without debug sections
  std::vector<Entry> entries_;
};

/// KernelTexts::with, for one kernel.
inline std::string withOneKernel(std::string_view ptx, std::string_view kernel) { return KernelTexts(ptx).with(kernel); }

}  // namespace shiftconv::emulator::ptx
