// The list of mutants that are proven to behave like the original.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/hazards/mutation/mutation.hpp"

namespace shiftconv::tests {

/// One row of equivalent.txt (see table_file.hpp). All but the proof may contain '*' for any text
/// and '?' for one character. No field holds a line number, so that an entry survives edits elsewhere in the kernel, and where the
/// source marks the place, no name of the source either.
struct Equivalent {
  std::string kernel;
  std::string place;        ///< "site: " and the last of Mutation::sites; or as Mutation::functions
  std::string instruction;  ///< as Mutation::form
  std::string occurrence;   ///< as Mutation::siteOccurrence or Mutation::occurrence
  std::string change;       ///< as toString(Change)
  std::string proof;        ///< one sentence
  size_t line = 0;          ///< in the file
};

class Equivalents {
 public:
  Equivalents() = default;  ///< none
  /// Throws as readTable().
  explicit Equivalents(const std::string& path);

  /// The first entry that covers the mutation, or null.
  const Equivalent* find(const Mutation& mutation) const;
  const std::vector<Equivalent>& entries() const { return entries_; }

 private:
  std::vector<Equivalent> entries_;
};

}  // namespace shiftconv::tests
