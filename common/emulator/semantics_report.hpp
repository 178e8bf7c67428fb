// What the probe kit (tests/probe) saw on a GPU: which alternatives of the open questions it follows.
#pragma once

#include <map>
#include <string>

namespace shiftconv::emulator {

struct SemanticsReport {
  std::map<std::string, std::string> choices;  ///< "U3" -> number or text of an alternative
  std::string problem;                         ///< a sentence; empty: there is none
  bool unreadable = false;                     ///< the problem is that the file cannot be read
};
/// Of a JSON file with an object "semantics" in it, such as {"semantics": {"U3": 1}}.
SemanticsReport readSemanticsReport(const std::string& path);

}  // namespace shiftconv::emulator
