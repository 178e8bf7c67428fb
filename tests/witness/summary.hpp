// Counts by family and the list of what went wrong, as a table and as JSON.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "tests/witness/comparison.hpp"

namespace shiftconv::witness {

class Summary {
 public:
  /// `recordingHeader` is the JSON header of the recording compared with.
  explicit Summary(std::string recordingHeader) : header_(std::move(recordingHeader)) {}
  void add(const CaseEntry& entry, const Judgement& judgement);
  size_t count(Verdict verdict) const;
  std::string table() const;
  std::string json() const;

 private:
  using Counts = std::array<size_t, static_cast<size_t>(Verdict::Count)>;
  struct Line {
    std::string family, name;
    Judgement judgement;
  };
  std::string header_;
  std::map<std::string, Counts> families_;
  std::vector<Line> remarkable_;  ///< everything that is neither a match nor within the documented error
};

}  // namespace shiftconv::witness
