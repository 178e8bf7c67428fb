#include "common/emulator/tools/ptxrun/kernel_name.hpp"

#include <cxxabi.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "common/emulator/tools/ptxrun/user_error.hpp"

namespace ptxrun {
namespace {

using shiftconv::emu::Kernel;
using shiftconv::emu::Module;

/// "void a::b<int>::saxpy<3>(int)" -> "a::b<int>::saxpy<3>".
std::string_view withoutArguments(std::string_view name) {
  // The list of arguments is the last one in parentheses; those of "(anonymous namespace)" and of template arguments come earlier.
  size_t depth = 0;
  for (size_t i = name.size(); i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) {
      name = name.substr(0, i);
      break;
    }
  }
  // A template has its result type in front.
  int nested = 0;
  size_t begin = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<' || name[i] == '(') ++nested;
    if (name[i] == '>' || name[i] == ')') --nested;
    if (name[i] == ' ' && nested == 0) begin = i + 1;
  }
  return name.substr(begin);
}

/// "a::b<int>::saxpy<3>" -> "saxpy<3>".
std::string_view withoutNamespaces(std::string_view name) {
  int nested = 0;
  size_t begin = 0;
  for (size_t i = 0; i + 1 < name.size(); ++i) {
    if (name[i] == '<' || name[i] == '(') ++nested;
    if (name[i] == '>' || name[i] == ')') --nested;
    if (nested == 0 && name[i] == ':' && name[i + 1] == ':') begin = i + 2;
  }
  return name.substr(begin);
}

std::string_view withoutTemplateArguments(std::string_view name) { return name.substr(0, name.find('<')); }

bool means(const std::string& name, const Kernel& kernel) {
  const std::string whole = demangled(kernel.name);
  const std::string_view qualified = withoutArguments(whole), simple = withoutNamespaces(qualified);
  return name == whole || name == qualified || name == simple || name == withoutTemplateArguments(simple);
}

}  // namespace

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? text.get() : name;
}

const Kernel& chooseKernel(const Module& module, const std::string& name) {
  std::vector<std::string> names;
  for (const Kernel& kernel : module.kernels()) names.push_back(demangled(kernel.name));
  if (names.empty()) throw UserError(fmt::format("{} holds no kernel", module.name()));
  if (name.empty() && names.size() > 1)
    throw UserError(fmt::format("{} has several kernels; choose one with --kernel: {}", module.name(), fmt::join(names, ", ")));
  if (name.empty()) return module.kernels().front();
  if (const Kernel* exact = module.find(name)) return *exact;
  std::vector<const Kernel*> meant;
  for (const Kernel& kernel : module.kernels())
    if (means(name, kernel)) meant.push_back(&kernel);
  if (meant.size() == 1) return *meant.front();
  if (meant.empty()) throw UserError(fmt::format("{} has no kernel '{}'; it has: {}", module.name(), name, fmt::join(names, ", ")));
  names.clear();
  for (const Kernel* kernel : meant) names.push_back(demangled(kernel->name));
  throw UserError(fmt::format("{} has several kernels '{}'; write one of: {}", module.name(), name, fmt::join(names, ", ")));
}

}  // namespace ptxrun
