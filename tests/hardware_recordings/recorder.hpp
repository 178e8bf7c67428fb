// Runs cases on the GPU and appends what they did to a recording.
#pragma once

#include <string>
#include <vector>

#include "tests/hardware_recordings/case.hpp"

namespace shiftconv::recordings {

/// Supervises worker processes (`program` with `workerArguments`) until every selected case is in the file: a case
/// that faults, hangs or kills its process is recorded as such and the next process goes on after it.
/// Returns an error, or "".
std::string superviseRecording(const std::vector<const CaseEntry*>& selected, const std::string& path,
                               const std::vector<std::string>& workerArguments);
/// The worker: records the selected cases that the file lacks. Returns the exit status of the process.
int recordMissing(const std::vector<const CaseEntry*>& selected, const std::string& path);

}  // namespace shiftconv::recordings
