#include "common/emulator/tools/emurun/program_file.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "common/emulator/tools/emurun/user_error.hpp"

namespace emurun {
namespace {

namespace fs = std::filesystem;

/// As much of an ELF file as is needed here. Everything is checked against the length of the file.
class ElfFile {
 public:
  explicit ElfFile(std::string bytes, std::string name) : bytes_(std::move(bytes)), name_(std::move(name)) {
    header_ = at<Elf64_Ehdr>(0);
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0)
      throw UserError(fmt::format("{} is no program (it is no ELF file)", name_));
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_machine != EM_X86_64)
      throw UserError(fmt::format("{} is no program for x86-64", name_));
    if (header_.e_type != ET_EXEC && header_.e_type != ET_DYN)
      throw UserError(fmt::format("{} is an object file; link it first, with nvcc -cudart shared", name_));
  }

  /// Path of the dynamic loader; empty when the program is linked statically.
  std::string interpreter() const {
    for (unsigned i = 0; i < header_.e_phnum; ++i) {
      const auto segment = at<Elf64_Phdr>(header_.e_phoff + i * sizeof(Elf64_Phdr));
      if (segment.p_type == PT_INTERP) return text(segment.p_offset);
    }
    return {};
  }

  bool hasSection(const char* name) const {
    if (header_.e_shnum == 0) return false;
    const auto names = at<Elf64_Shdr>(header_.e_shoff + header_.e_shstrndx * sizeof(Elf64_Shdr));
    for (unsigned i = 0; i < header_.e_shnum; ++i) {
      const auto section = at<Elf64_Shdr>(header_.e_shoff + i * sizeof(Elf64_Shdr));
      if (text(names.sh_offset + section.sh_name) == name) return true;
    }
    return false;
  }

 private:
  template <class Part>
  Part at(uint64_t offset) const {
    Part part;
    if (offset > bytes_.size() || sizeof part > bytes_.size() - offset) throw UserError(fmt::format("{} is cut off", name_));
    std::memcpy(&part, bytes_.data() + offset, sizeof part);
    return part;
  }
  std::string text(uint64_t offset) const {
    if (offset >= bytes_.size()) throw UserError(fmt::format("{} is cut off", name_));
    return bytes_.substr(offset, bytes_.find('\0', offset) - offset);
  }

  std::string bytes_;
  std::string name_;
  Elf64_Ehdr header_;
};

/// What a command prints, both streams.
std::string outputOf(const std::vector<std::string>& command, char* const* environment) {
  std::array<int, 2> pipe{};
  if (pipe2(pipe.data(), O_CLOEXEC) != 0) throw UserError(fmt::format("no pipe: {}", std::strerror(errno)));
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], STDERR_FILENO);
  pid_t process = 0;
  const int failure = posix_spawn(&process, argv[0], &actions, nullptr, argv.data(), environment);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe[1]);
  std::string text;
  std::array<char, 4096> block{};
  for (ssize_t count; failure == 0 && (count = read(pipe[0], block.data(), block.size())) > 0;)
    text.append(block.data(), static_cast<size_t>(count));
  close(pipe[0]);
  if (failure != 0) throw UserError(fmt::format("{} cannot be started: {}", command[0], std::strerror(failure)));
  int status = 0;
  waitpid(process, &status, 0);
  return text;
}

std::string readFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  if (file.bad() || bytes.empty()) throw UserError(fmt::format("{} cannot be read or is empty", path.string()));
  return bytes;
}

/// "\tlibcudart.so.13 => /path (0x...)" -> "/path"; empty when the loader does not mention the library.
std::string resolved(const std::string& list, const std::string& library) {
  std::istringstream lines(list);
  for (std::string line; std::getline(lines, line);) {
    const size_t name = line.find(library + " => ");
    if (name == std::string::npos) continue;
    const size_t begin = name + library.size() + 4;
    return line.substr(begin, line.rfind(" (") - begin);
  }
  return {};
}

}  // namespace

fs::path findProgram(const std::string& name) {
  std::error_code error;
  if (name.find('/') == std::string::npos) {
    const char* path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
      const fs::path candidate = fs::path(folder.empty() ? "." : folder) / name;
      if (fs::is_regular_file(candidate, error) && access(candidate.c_str(), X_OK) == 0) return candidate;
    }
    throw UserError(fmt::format("there is no program {} on PATH{}", name,
                                fs::is_regular_file(name, error) ? fmt::format("; did you mean ./{}?", name) : ""));
  }
  if (!fs::exists(name, error)) throw UserError(fmt::format("{} does not exist", name));
  if (fs::is_directory(name, error)) throw UserError(fmt::format("{} is a directory, not a program", name));
  if (!fs::is_regular_file(name, error)) throw UserError(fmt::format("{} is no regular file", name));
  if (access(name.c_str(), R_OK) != 0) throw UserError(fmt::format("{} cannot be read", name));
  if (access(name.c_str(), X_OK) != 0) throw UserError(fmt::format("{} is not executable", name));
  return name;
}

void checkProgram(const fs::path& program, const fs::path& folder, char* const* environment) {
  const std::string bytes = readFile(program);
  if (bytes.starts_with("#!")) return;  // a script: the programs that it starts will use the libraries
  const ElfFile file(bytes, program.string());
  const std::string loader = file.interpreter();
  const std::string list = loader.empty() ? std::string() : outputOf({loader, "--list", program.string()}, environment);
  if (const size_t missing = list.find(": cannot open shared object file"); missing != std::string::npos) {
    const size_t begin = list.rfind('\n', missing) + 1;
    throw UserError(fmt::format("{} cannot be loaded: {}", program.string(), list.substr(begin, list.find('\n', missing) - begin)));
  }
  bool usesCuda = false;
  for (const char* library : {"libcudart.so.13", "libcuda.so.1"}) {
    const std::string path = resolved(list, library);
    if (path.empty()) continue;
    usesCuda = true;
    std::error_code error;
    if (!fs::equivalent(path, folder / library, error))
      throw UserError(fmt::format("{} finds {} in {} before the emulated one, perhaps by an RPATH; link it without",
                                  program.string(), library, path));
  }
  if (usesCuda) return;
  if (file.hasSection(".nv_fatbin"))
    throw UserError(
        fmt::format("{} does not use libcudart.so.13: it has the CUDA runtime, or one of another release, linked into it; "
                    "link it with nvcc 13 and -cudart shared",
                    program.string()));
  throw UserError(fmt::format("{} uses neither libcudart.so.13 nor libcuda.so.1: it is no CUDA program", program.string()));
}

}  // namespace emurun
