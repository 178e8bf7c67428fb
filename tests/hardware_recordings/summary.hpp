// Counts by family and the list of what is not a match bit for bit, for the terminal and as the committed SUMMARY.md.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "tests/hardware_recordings/comparison.hpp"

namespace shiftconv::recordings {

class Summary {
 public:
  /// `recordingHeader` is the JSON header of the recording compared with.
  explicit Summary(std::string recordingHeader) : header_(std::move(recordingHeader)) {}
  /// `bytes`: size of the recorded result.
  void add(const CaseEntry& entry, const Judgement& judgement, uint64_t bytes);
  size_t count(Verdict verdict) const;
  /// What went wrong, and the counts.
  std::string table() const;
  /// Counts, cases that are compared within an error, and cases that are not compared, with the reason of each.
  std::string markdown() const;

 private:
  struct Counts {
    std::array<size_t, static_cast<size_t>(Verdict::Count)> verdicts{};
    uint64_t bytes = 0;  ///< of cases that were compared
  };
  struct Line {
    std::string family, name;
    Judgement judgement;
  };
  std::vector<std::pair<std::string, Counts>> rows() const;  ///< the last one is the total
  std::string header_;
  std::map<std::string, Counts> families_;
  std::vector<Line> remarkable_;  ///< everything that is not a match
};

}  // namespace shiftconv::recordings
