#include "common/emulator/tools/ptxrun/arguments.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "common/emulator/tools/ptxrun/structure_json.hpp"
#include "common/emulator/tools/ptxrun/tensor_map_json.hpp"
#include "common/emulator/tools/ptxrun/user_error.hpp"

namespace ptxrun {
namespace {

using Bytes = std::vector<std::byte>;

template <class Value>
Bytes bytesOf(const Value& value) {
  Bytes bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

[[noreturn]] void refuseScalar(std::string_view type, std::string_view text) {
  throw UserError(fmt::format("'{}' is no value of type {}", text, type));
}

/// Decimal or 0x hexadecimal, optionally negative, within `bits`: signed types keep their range, b types take both.
uint64_t parseInteger(std::string_view type, unsigned bits, std::string_view text) {
  const bool negative = text.starts_with('-');
  std::string_view digits = negative ? text.substr(1) : text;
  const bool hexadecimal = digits.starts_with("0x");
  if (hexadecimal) digits.remove_prefix(2);
  uint64_t magnitude = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, hexadecimal ? 16 : 10);
  if (error != std::errc() || end != digits.data() + digits.size()) refuseScalar(type, text);
  const uint64_t highest = bits == 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1;
  const uint64_t limit = negative ? (type[0] == 'u' ? 0 : highest / 2 + 1) : (type[0] == 'i' ? highest / 2 : highest);
  if (magnitude > limit) throw UserError(fmt::format("{} does not fit into type {}", text, type));
  return negative ? ~magnitude + 1 : magnitude;
}

template <class Float>
Bytes parseFloat(std::string_view type, const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const Float value = sizeof(Float) == 4 ? static_cast<Float>(std::strtof(text.c_str(), &end))
                                         : static_cast<Float>(std::strtod(text.c_str(), &end));
  if (text.empty() || *end != '\0') refuseScalar(type, text);
  return bytesOf(value);
}

Bytes parseScalar(std::string_view type, const std::string& text) {
  if (type == "f32") return parseFloat<float>(type, text);
  if (type == "f64") return parseFloat<double>(type, text);
  for (const unsigned bits : {8u, 16u, 32u, 64u})
    for (const char kind : {'i', 'u', 'b'})
      if (type == fmt::format("{}{}", kind, bits)) {
        Bytes bytes = bytesOf(parseInteger(type, bits, text));
        bytes.resize(bits / 8);  // little endian
        return bytes;
      }
  throw UserError(fmt::format(
      "'{}' is no kind of argument; use i8..i64, u8..u64, b8..b64, f32, f64, buf, out, inout, zeros, ref, tmap, struct or bytes",
      type));
}

/// "NAME" or "NAME+BYTES".
uint64_t parseReference(const std::string& text, const Buffers& buffers) {
  const size_t plus = text.find('+');
  const uint64_t offset = plus == std::string::npos ? 0 : parseInteger("u64", 64, std::string_view(text).substr(plus + 1));
  return buffers.find(text.substr(0, plus)).address + offset;
}

/// "{...}" or "[...]" as it is, else the contents of the file; `origin` is how errors name it.
std::string jsonOf(const std::string& text, const char* what, std::string& origin) {
  const bool inPlace = text.starts_with('{') || text.starts_with('[');
  origin = inPlace ? what : text;
  if (inPlace) return text;
  const Bytes file = readBytes(text);
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}

Bytes valueOf(const std::string& argument, const Buffers& buffers) {
  if (isBuffer(argument)) throw UserError("a buffer has no place inside a structure; name it with --buffer and write ref:NAME");
  const size_t colon = argument.find(':');
  if (colon == std::string::npos) throw UserError("an argument has the form KIND:VALUE, for example i32:5");
  const std::string kind = argument.substr(0, colon), text = argument.substr(colon + 1);
  if (kind == "ref") return bytesOf(parseReference(text, buffers));
  if (kind == "bytes") return readBytes(text);
  if (kind == "tmap") {
    std::string origin;
    const std::string json = jsonOf(text, "the tensor map", origin);
    return bytesOf(tensorMapFromJson(json, origin, [&](const std::string& name) { return buffers.find(name).address; }));
  }
  if (kind == "struct") {
    std::string origin;
    const std::string json = jsonOf(text, "the structure", origin);
    return structureFromJson(json, origin, [&](const std::string& field) { return valueOf(field, buffers); });
  }
  return parseScalar(kind, text);
}

}  // namespace

Arguments::Arguments(const std::vector<std::string>& texts, const shiftconv::emu::Kernel& kernel, Buffers& buffers) {
  if (texts.size() != kernel.parameters.size())
    throw UserError(fmt::format("kernel {} takes {} parameters, but {} --arg were given; --list shows the parameters", kernel.name,
                                kernel.parameters.size(), texts.size()));
  const auto explain = [](size_t index, const std::string& text, const UserError& error) {
    throw UserError(fmt::format("argument {} ({}): {}", index, text, error.what()));
  };
  // Buffers come first: a tensor map may view one that is listed after it.
  for (size_t i = 0; i < texts.size(); ++i) try {
      if (isBuffer(texts[i])) buffers.add(std::to_string(i), parseBuffer(texts[i]));
    } catch (const UserError& error) {
      explain(i, texts[i], error);
    }
  for (size_t i = 0; i < texts.size(); ++i) try {
      const Bytes value = isBuffer(texts[i]) ? bytesOf(buffers.find(std::to_string(i)).address) : valueOf(texts[i], buffers);
      const auto& parameter = kernel.parameters[i];
      if (value.size() != parameter.bytes)
        throw UserError(fmt::format("it has {} bytes, but parameter {} has {}", value.size(), parameter.name, parameter.bytes));
      std::memcpy(values_.emplace_back(value.size() / sizeof(Block) + 1).data(), value.data(), value.size());
    } catch (const UserError& error) {
      explain(i, texts[i], error);
    }
}

std::vector<const void*> Arguments::pointers() const {
  std::vector<const void*> result;
  for (const auto& value : values_) result.push_back(value.data());
  return result;
}

}  // namespace ptxrun
