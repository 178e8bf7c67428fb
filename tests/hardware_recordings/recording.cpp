#include "tests/hardware_recordings/recording.hpp"

#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/hardware_recordings/operands.hpp"

namespace shiftconv::recordings {
namespace {

constexpr std::string_view kMagic = "shiftconv-witness-2\n";  // as in files that were recorded under an older name

template <class Number>
void put(std::string& out, Number value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void putText(std::string& out, std::string_view text) {
  put(out, static_cast<uint32_t>(text.size()));
  out.append(text);
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <class Number>
  Number number() {
    Number value{};
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view text() { return take(number<uint32_t>()); }
  std::string_view take(size_t count) {
    if (count > bytes_.size()) throw std::out_of_range("recording ends early");
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  bool empty() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

std::string serialise(const Record& record) {
  std::string out;
  putText(out, record.name);
  put(out, record.caseHash);
  put(out, static_cast<uint8_t>(record.outcome));
  putText(out, record.text);
  put(out, record.totalBytes);
  put(out, record.hash);
  putText(out, {reinterpret_cast<const char*>(record.prefix.data()), record.prefix.size()});
  putText(out, {reinterpret_cast<const char*>(record.blocks.data()), record.blocks.size() * sizeof(uint16_t)});
  return out;
}

Record deserialise(std::string_view bytes) {
  Reader reader(bytes);
  Record record;
  record.name = reader.text();
  record.caseHash = reader.number<uint64_t>();
  record.outcome = static_cast<Outcome>(reader.number<uint8_t>());
  record.text = reader.text();
  record.totalBytes = reader.number<uint64_t>();
  record.hash = reader.number<ContentHash>();
  const std::string_view prefix = reader.text();
  const auto* first = reinterpret_cast<const std::byte*>(prefix.data());
  record.prefix.assign(first, first + prefix.size());
  const std::string_view blocks = reader.text();
  record.blocks.resize(blocks.size() / sizeof(uint16_t));
  if (!blocks.empty()) std::memcpy(record.blocks.data(), blocks.data(), blocks.size());
  return record;
}

}  // namespace

ContentHash contentHash(const std::vector<std::byte>& bytes) {
  constexpr uint64_t kOther = 0x6A09E667F3BCC909ull;
  return {hashBytes(bytes.data(), bytes.size()), hashBytes(bytes.data(), bytes.size(), kOther)};
}

uint64_t hashOf(const Case& made) {
  uint64_t hash = hashText(made.ptx);
  const auto mix = [&hash](const auto& value) { hash = hashBytes(&value, sizeof value, hash); };
  for (const Extent& extent : {made.launch.grid, made.launch.block, made.launch.cluster}) mix(extent);
  mix(made.launch.dynamicShared);
  for (const Buffer& buffer : made.buffers) hash = hashBytes(buffer.bytes.data(), buffer.bytes.size(), hash);
  for (const TensorMap& map : made.maps) {
    for (const uint32_t value : {map.type, map.rank, static_cast<uint32_t>(map.buffer), map.interleave, map.swizzle, map.fill})
      mix(value);
    mix(map.byteOffset), mix(map.dims), mix(map.strides), mix(map.box), mix(map.elementStrides);
    if (map.pixels) mix(map.pixels->lower), mix(map.pixels->upper), mix(map.pixels->channels), mix(map.pixels->pixels);
  }
  for (const Argument& argument : made.arguments) mix(argument.index);
  return hash;
}

Record fullRecord(const std::string& name, const Case& made, const Observation& seen) {
  Record record;
  record.name = name;
  record.caseHash = hashOf(made);
  record.outcome = seen.outcome;
  record.text = seen.text;
  record.totalBytes = seen.bytes.size();
  record.hash = contentHash(seen.bytes);
  record.prefix = seen.bytes;
  return record;
}

Record compacted(const Record& full, size_t prefixBytes) {
  Record record = full;
  if (full.prefix.size() <= prefixBytes) return record;
  record.prefix.resize(prefixBytes);
  for (size_t at = 0; at < full.prefix.size(); at += kBlockBytes)
    record.blocks.push_back(
        static_cast<uint16_t>(hashBytes(full.prefix.data() + at, std::min(kBlockBytes, full.prefix.size() - at))));
  return record;
}

std::optional<Recording> readRecording(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream all;
  all << file.rdbuf();
  const std::string bytes = all.str();
  if (bytes.substr(0, kMagic.size()) != kMagic) throw std::runtime_error(fmt::format("{} is no recording of this program", path));
  Reader reader(std::string_view(bytes).substr(kMagic.size()));
  Recording recording;
  try {
    recording.header = reader.text();
    while (!reader.empty()) {
      Record record = deserialise(reader.text());
      recording.index[record.name] = recording.records.size();
      recording.records.push_back(std::move(record));
    }
  } catch (const std::out_of_range&) {
    // The run that wrote the file was interrupted.
  }
  return recording;
}

void startRecording(const std::string& path, const std::string& header) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  std::string out(kMagic);
  putText(out, header);
  file << out;
  if (!file) throw std::runtime_error(fmt::format("cannot write {}", path));
}

void appendRecord(const std::string& path, const Record& record) {
  std::ofstream file(path, std::ios::binary | std::ios::app);
  std::string out;
  putText(out, serialise(record));
  file << out << std::flush;
  if (!file) throw std::runtime_error(fmt::format("cannot append to {}", path));
}

}  // namespace shiftconv::recordings
