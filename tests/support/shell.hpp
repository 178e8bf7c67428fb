// Programs run as their users run them.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace shiftconv::tests {

struct Outcome {
  int exitCode = -1;
  std::string text;  ///< standard output and standard error
};

inline Outcome runShell(const std::string& command) {
  Outcome run;
  std::FILE* pipe = popen(("{ " + command + "\n} 2>&1").c_str(), "r");
  if (pipe == nullptr) return run;
  char buffer[4096];
  while (const size_t size = std::fread(buffer, 1, sizeof(buffer), pipe)) run.text.append(buffer, size);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) run.exitCode = WEXITSTATUS(status);
  return run;
}

}  // namespace shiftconv::tests
