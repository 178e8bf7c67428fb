// Statements that sources mark with a comment after them, `// site: name`.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tests/support/source_positions.hpp"

namespace shiftconv::tests {

class Sites {
 public:
  /// "first_copy/slot_free": the marked statements that a line of PTX comes from, from the kernel inwards; "" without one. Reads
  /// sources that the PTX names; one that cannot be read has no marks.
  std::string at(const SourcePositions& positions, uint32_t ptxLine);

 private:
  using SiteByLine = std::map<uint32_t, std::string>;
  std::map<std::string, SiteByLine> files_;
};

}  // namespace shiftconv::tests
