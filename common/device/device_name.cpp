#include "common/device/device_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <system_error>

#include "common/device/emulated_targets.hpp"

namespace shiftconv::device {
namespace {

constexpr std::string_view kCuda = "cuda:", kEmulated = "emulated:";
constexpr const char* kVariable = "SHIFTCONV_DEVICE";
constexpr size_t kQuoted = 40;  // characters of a wrong name that a message repeats

}  // namespace

std::string deviceNameForms() {
  std::string text = "auto, cuda, cuda:N (GPU N of the driver), emulated";
  const auto targets = emulatedTargets();
  for (const std::string_view target : targets)
    text += fmt::format("{}{}{}", target == targets.back() ? " or " : ", ", kEmulated, target);
  return text;
}

Status parseDeviceName(std::string_view text, DeviceName& name) {
  if (text == "auto") return name = {}, Status();
  if (text == "cuda") return name = {Kind::Cuda, 0}, Status();
  if (text == "emulated") return name = {Kind::Emulated, 0}, Status();
  if (text.starts_with(kCuda)) {
    int index = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + kCuda.size(), end, index);
    if (error == std::errc() && stop == end && index >= 0) return name = {Kind::Cuda, index}, Status();
  }
  if (text.starts_with(kEmulated)) {
    const auto targets = emulatedTargets();
    const auto found = std::find(targets.begin(), targets.end(), text.substr(kEmulated.size()));
    if (found != targets.end()) return name = {Kind::Emulated, static_cast<int>(std::distance(targets.begin(), found))}, Status();
  }
  return {StatusCode::InvalidArgument, fmt::format("must be {}, but is \"{}{}\"", deviceNameForms(), text.substr(0, kQuoted),
                                                   text.size() > kQuoted ? "..." : "")};
}

Status readDeviceVariable(DeviceName& name) {
  name = {};
  const char* const text = std::getenv(kVariable);
  if (text == nullptr || *text == '\0') return {};
  const Status status = parseDeviceName(text, name);
  if (status.ok()) return {};
  return {status.code(), fmt::format("the environment variable {} {}", kVariable, status.message())};
}

}  // namespace shiftconv::device
