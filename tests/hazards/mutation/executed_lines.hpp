// Which lines of a kernel's PTX a run executes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/emulator/options.hpp"
#include "tests/support/subject.hpp"

namespace shiftconv::tests {

/// A set of PTX lines, counted from 1.
class ExecutedLines {
 public:
  void add(uint32_t line) {
    if (line >= lines_.size()) lines_.resize(line + 1);
    lines_[line] = true;
  }
  void add(const ExecutedLines& others);
  bool contains(uint32_t line) const { return line < lines_.size() && lines_[line]; }

 private:
  std::vector<bool> lines_;
};

/// Those that any warp comes to in a run of the trial, whether its guard lets a lane execute them or not. A mutant of another line
/// does in such a run what the original does. The hazard checker stays off. Throws as LoadedSubject::run().
ExecutedLines executedLines(LoadedSubject& subject, size_t trial, emulator::Options options);

}  // namespace shiftconv::tests
