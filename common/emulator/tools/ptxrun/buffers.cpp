#include "common/emulator/tools/ptxrun/buffers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "common/emulator/tools/ptxrun/user_error.hpp"

namespace ptxrun {
namespace {

constexpr uint8_t kPoison = 0xCB;  // -15.6 as f16, -2.7e7 as f32, -875836469 as i32

std::vector<uint64_t> parseShape(std::string_view text) {
  std::vector<uint64_t> shape;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data();;) {
    const auto [next, error] = std::from_chars(at, end, shape.emplace_back());
    if (error != std::errc() || (next != end && *next != 'x'))
      throw UserError(fmt::format("'{}' is no shape; write for example 1024 or 32x64", text));
    if (next == end) return shape;
    at = next + 1;
  }
}

void describeArray(Array& array, std::string_view type, std::string_view shape) {
  array.type = type;
  if (elementBytes(type) == 0)
    throw UserError(fmt::format("'{}' is no element type; known are {}", type, fmt::join(elementTypes(), " ")));
  array.shape = parseShape(shape);
  elementCount(array.shape);  // refuses what does not fit into 64 bits
}

uint64_t byteCount(const Buffer& buffer) { return elementCount(buffer.array.shape) * elementBytes(buffer.array.type); }

void check(const shiftconv::emu::Error& error) {
  if (error) throw UserError(error.message);
}

/// Splits at the last `count` colons; the first part may hold colons itself.
std::vector<std::string_view> splitFromRight(std::string_view text, size_t count) {
  std::vector<std::string_view> parts;
  for (; count > 0; --count) {
    const size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) break;
    parts.insert(parts.begin(), text.substr(colon + 1));
    text = text.substr(0, colon);
  }
  parts.insert(parts.begin(), text);
  return parts;
}

}  // namespace

bool isBuffer(std::string_view text) {
  const std::string_view kind = text.substr(0, text.find(':'));
  return kind == "buf" || kind == "out" || kind == "inout" || kind == "zeros";
}

Buffer parseBuffer(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const std::string_view rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  Buffer buffer;
  if (kind == "buf" && !rest.empty()) {
    buffer.content = Buffer::Content::File;
    buffer.array = readArray(std::string(rest));
    return buffer;
  }
  if (const auto parts = splitFromRight(rest, 1); kind == "inout" && parts.size() == 2) {
    buffer.content = Buffer::Content::File;
    buffer.array = readArray(std::string(parts[0]));
    buffer.outputPath = parts[1];
    return buffer;
  }
  if (const auto parts = splitFromRight(rest, 2); kind == "out" && parts.size() == 3) {
    buffer.outputPath = parts[0];
    describeArray(buffer.array, parts[1], parts[2]);
    return buffer;
  }
  if (kind == "zeros") {
    const size_t second = rest.find(':');
    const size_t third = second == std::string_view::npos ? second : rest.find(':', second + 1);
    if (second != std::string_view::npos) {
      buffer.content = Buffer::Content::Zeros;
      describeArray(buffer.array, rest.substr(0, second), rest.substr(second + 1, third - second - 1));
      if (third != std::string_view::npos) buffer.outputPath = rest.substr(third + 1);
      return buffer;
    }
  }
  throw UserError(fmt::format(
      "'{}' describes no buffer; write buf:FILE, out:FILE:TYPE:SHAPE, inout:FILE:OUTPUT or zeros:TYPE:SHAPE[:OUTPUT]", text));
}

Buffers::~Buffers() {
  for (const auto& [name, buffer] : buffers_) machine_.release(buffer.address);
}

const Buffer& Buffers::add(const std::string& name, Buffer buffer) {
  if (buffers_.contains(name)) throw UserError(fmt::format("two buffers are called '{}'", name));
  // Before the launch: nobody wants to learn of it when an hour's work is to be saved.
  if (!buffer.outputPath.empty()) checkWritable(buffer.outputPath);
  const auto address = machine_.allocate(byteCount(buffer));
  if (!address) throw UserError(fmt::format("buffer '{}': {}", name, address.error().message));
  buffer.address = *address;
  return buffers_.emplace(name, std::move(buffer)).first->second;
}

const Buffer& Buffers::find(const std::string& name) const {
  const auto found = buffers_.find(name);
  if (found != buffers_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, buffer] : buffers_) names.push_back(known);
  throw UserError(fmt::format("there is no buffer '{}'; known are: {}", name, fmt::join(names, ", ")));
}

void Buffers::reset() {
  for (const auto& [name, buffer] : buffers_) {
    const uint64_t bytes = byteCount(buffer);
    if (buffer.content == Buffer::Content::File)
      check(machine_.copyToDevice(buffer.address, buffer.array.data.data(), bytes));
    else
      check(machine_.fill(buffer.address, buffer.content == Buffer::Content::Zeros ? 0 : kPoison, bytes));
  }
}

std::vector<std::byte> Buffers::deviceBytes(const Buffer& buffer) const {
  std::vector<std::byte> bytes(byteCount(buffer));
  check(machine_.copyToHost(bytes.data(), buffer.address, bytes.size()));
  return bytes;
}

std::vector<std::byte> Buffers::outputs() const {
  std::vector<std::byte> all;
  for (const auto& [name, buffer] : buffers_) {
    if (buffer.outputPath.empty()) continue;
    const std::vector<std::byte> bytes = deviceBytes(buffer);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

std::vector<std::string> Buffers::save() const {
  std::vector<std::string> lines;
  for (const auto& [name, buffer] : buffers_) {
    if (buffer.outputPath.empty()) continue;
    writeArray(buffer.outputPath, {buffer.array.type, buffer.array.shape, deviceBytes(buffer)});
    lines.push_back(fmt::format("wrote {} ({} {})", buffer.outputPath, buffer.array.type, fmt::join(buffer.array.shape, "x")));
  }
  return lines;
}

}  // namespace ptxrun
