// Where in the CUDA source a line of PTX comes from, through inlined calls.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace shiftconv::tests {

/// Reads the `.loc` and `.file` directives and the names in `.debug_str` of PTX that nvcc -lineinfo wrote (PTX ISA 9.0, 11.5.2).
class SourcePositions {
 public:
  SourcePositions() = default;  ///< knows nothing
  explicit SourcePositions(std::string_view ptx);

  /// "file.cu:103/207/184": the innermost line outside common/ptx and the toolkit's intrinsics, after the lines that its
  /// function and the one around it were inlined at, if they were.
  /// "" where nothing is known.
  std::string at(uint32_t ptxLine) const;

  /// "run/loadFilter": the functions around that line, from the kernel's first call inwards, without their classes, template
  /// arguments and parameters; a lambda counts as the function that it is written in. Unlike line numbers, this survives editing
  /// other parts of a kernel. "" for code of the kernel function itself, or where nothing is known.
  std::string functionsAt(uint32_t ptxLine) const;

  struct SourceLine {
    std::string path;
    uint32_t line = 0;
  };
  /// The line of `at` and those that it is inlined at, from the kernel inwards.
  std::vector<SourceLine> linesAt(uint32_t ptxLine) const;

 private:
  using Place = std::tuple<uint32_t, uint32_t, uint32_t>;  // file, line, column
  struct Frame {
    uint32_t ptxLine = 0;
    Place place, inlinedAt;  // file 0: not inlined
    std::string function;    // label of the inlined function's name
  };
  bool isWrapper(uint32_t file) const;
  const Frame* frameOf(const Place& place, uint32_t beforePtxLine) const;
  const Frame* innermostAt(uint32_t ptxLine) const;

  std::map<uint32_t, std::string> files_;
  std::map<std::string, std::string> functions_;  ///< label -> short name
  std::vector<Frame> frames_;                     ///< in order of PTX lines
};

/// "shiftconv::Cta<(Path)0>::load<int>(int) const::{lambda(int)#1}::operator()(int) const" -> "load"
std::string shortFunctionName(std::string_view demangled);

}  // namespace shiftconv::tests
