// The list of mutants that are proven to behave like the original.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/hazards/mutation/mutation.hpp"

namespace shiftconv::tests {

/// One row of an equivalent.txt (see table_file.hpp). All but the proof may contain '*' for any text
/// and '?' for one character. No field holds a line number, so that an entry survives edits elsewhere in the kernel, and where the
/// source marks the place, no name of the source either.
struct Equivalent {
  std::string kernel;
  std::string place;         ///< "site: " and the last of Mutation::sites; or as Mutation::functions
  std::string instruction;   ///< as Mutation::form
  std::string occurrence;    ///< as Mutation::siteOccurrence or Mutation::occurrence
  std::string change;        ///< as toString(Change)
  std::string proof;         ///< one sentence
  std::string where;         ///< file and line
  bool ofAnyKernel = false;  ///< not of an algorithm's
};

class Equivalents {
 public:
  /// Appends those of a file. Throws as readTable().
  void read(const std::string& path, bool ofAnyKernel);

  /// The first entry that covers the mutation, or null.
  const Equivalent* find(const Mutation& mutation) const;
  const std::vector<Equivalent>& entries() const { return entries_; }
  /// Whether the entry is about this kernel.
  static bool isAbout(const Equivalent& entry, std::string_view kernel);

 private:
  std::vector<Equivalent> entries_;
};

}  // namespace shiftconv::tests
