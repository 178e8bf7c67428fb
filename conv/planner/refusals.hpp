// Why algorithms do not run a problem: all reasons in a list, and the one that counts in a sentence.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shiftconv::plan {

class Refusals {
 public:
  /// `sentence` begins with the algorithm's name. `isBuilt`: for the device's compute capability. Those of last resort come last.
  void add(std::string_view algorithm, std::string_view sentence, bool isBuilt, bool isLastResort);

  /// A line for each reason, with all algorithms that have it.
  std::string lines() const;
  /// The reason that most algorithms share of those that are built for the device, and that of the last resort, which asks for
  /// least. Of the others only how many they are. Requires a refusal.
  std::string sentence() const;

 private:
  struct Reason {
    std::string text;                     ///< the sentence without the algorithm
    std::vector<std::string> algorithms;  ///< the last one says it
    bool isBuilt, isLastResort;

    std::string describe() const;
  };
  std::vector<const Reason*> decisive() const;

  std::vector<Reason> reasons_;
};

}  // namespace shiftconv::plan
