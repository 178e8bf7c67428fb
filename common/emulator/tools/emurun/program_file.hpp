// What can be known of a program before it runs.
#pragma once

#include <filesystem>
#include <string>

namespace emurun {

/// The file that the shell would run: as it is when it has a slash, else from PATH. Throws UserError.
std::filesystem::path findProgram(const std::string& name);

/// Throws UserError, one sentence, when the program would not use the libraries in `folder`: it is no program for this machine,
/// it has the CUDA runtime linked into it, or it finds another one first. `environment` is what it will run with.
void checkProgram(const std::filesystem::path& program, const std::filesystem::path& folder, char* const* environment);

}  // namespace emurun
