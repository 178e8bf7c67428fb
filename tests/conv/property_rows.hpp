// Small problems for tests of what every algorithm has to hold: rows of tests/algorithms/<algorithm>/properties.txt, in which " | "
// stands between fields and "-" for nothing. Where a case (see parseCase) stands, its algorithm is that of the folder.
//
//   divided work | <preset> | <options> | <problem>            of many tiles: two multiprocessors take half of one's time
//   amax | <architecture> | <case>                             amax is raised, and never lowered
//   images | <architecture> | <case>                           of three images: each has the outputs that it has alone
//   far pixels | <architecture> | <case> | <words> | <words>   input and output beyond 2^31 bytes are computed, or refused so
//   no <property> | <why>
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shiftconv::tests {

struct PropertyRow {
  std::string algorithm, where;     ///< preset or architecture
  std::vector<std::string> fields;  ///< further ones, "" for "-"

  /// The case that all further fields are.
  std::string caseText() const;
};

/// Of all algorithms, in the order of their names.
std::vector<PropertyRow> propertyRows(std::string_view property);
/// Whether an algorithm's file says why it has none.
bool saysWhyNot(std::string_view algorithm, std::string_view property);

}  // namespace shiftconv::tests
