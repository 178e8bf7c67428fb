#include "common/emulator/tools/ptxrun/tensor_map_json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "common/emulator/tools/ptxrun/user_error.hpp"

namespace ptxrun {
namespace {

using nlohmann::json;
using shiftconv::emu::TensorMap;
using shiftconv::emu::TensorMapImage;

/// A word of the description and its number in cuda.h (CUtensorMapDataType and so on).
struct Name {
  std::string_view name;
  uint32_t number;
  uint32_t bits = 0;  ///< of one element in global memory, of data types
};
using Names = std::vector<Name>;

const Names kTypes{{"u8", 0, 8},         {"u16", 1, 16},          {"u32", 2, 32},           {"i32", 3, 32},
                   {"u64", 4, 64},       {"i64", 5, 64},          {"f16", 6, 16},           {"f32", 7, 32},
                   {"f64", 8, 64},       {"bf16", 9, 16},         {"f32_ftz", 10, 32},      {"tf32", 11, 32},
                   {"tf32_ftz", 12, 32}, {"16u4_align8b", 13, 4}, {"16u4_align16b", 14, 4}, {"16u6_align16b", 15, 6}};
const Names kSwizzles{{"none", 0},         {"32B", 1}, {"64B", 2}, {"128B", 3}, {"128B_ATOM_32B", 4}, {"128B_ATOM_32B_FLIP_8B", 5},
                      {"128B_ATOM_64B", 6}};
const Names kInterleaves{{"none", 0}, {"16B", 1}, {"32B", 2}};
const Names kFills{{"zero", 0}, {"nan", 1}};
constexpr size_t kMaximumRank = 5;

/// Reads one JSON object key by key and remembers which were asked for.
class Object {
 public:
  Object(const json& value, std::string origin) : value_(value), origin_(std::move(origin)) {
    if (!value.is_object()) fail("a JSON object { ... } is expected");
  }

  [[noreturn]] void fail(const std::string& why) const { throw UserError(fmt::format("{}: {}", origin_, why)); }

  bool has(const char* key) {
    known_.insert(key);
    return value_.contains(key);
  }

  const json& at(const char* key) {
    if (!has(key)) fail(fmt::format("\"{}\" is missing", key));
    return value_.at(key);
  }

  template <class Integer>
  Integer integer(const char* key) {
    return asInteger<Integer>(at(key), key);
  }

  template <class Integer, size_t size>
  void integers(const char* key, size_t count, std::array<Integer, size>& into) {
    const json& list = at(key);
    if (!list.is_array() || list.size() != count) fail(fmt::format("\"{}\" must be a list of {} numbers", key, count));
    for (size_t i = 0; i < count; ++i) into[i] = asInteger<Integer>(list[i], key);
  }

  const Name& choice(const char* key, const Names& names) {
    const json& value = at(key);
    std::string known;
    for (const Name& entry : names) {
      if (value.is_string() && value.get<std::string>() == entry.name) return entry;
      known += fmt::format(" {}", entry.name);
    }
    fail(fmt::format("\"{}\" is {}, but must be one of{}", key, value.dump(), known));
  }

  void refuseUnknownKeys() const {
    for (const auto& [key, value] : value_.items())
      if (!known_.contains(key)) fail(fmt::format("\"{}\" is no known key", key));
  }

 private:
  template <class Integer>
  Integer asInteger(const json& number, const char* key) const {
    if (number.is_number_unsigned() && std::in_range<Integer>(number.get<uint64_t>())) return number.get<Integer>();
    if (number.is_number_integer() && !number.is_number_unsigned() && std::in_range<Integer>(number.get<int64_t>()))
      return number.get<Integer>();
    fail(fmt::format("\"{}\" holds {}, which is no integer of the range [{}, {}]", key, number.dump(),
                     std::numeric_limits<Integer>::min(), std::numeric_limits<Integer>::max()));
  }

  const json& value_;
  std::string origin_;
  std::set<std::string> known_;
};

std::string bufferName(Object& object) {
  const json& buffer = object.at("buffer");
  if (buffer.is_string()) return buffer.get<std::string>();
  return std::to_string(object.integer<uint32_t>("buffer"));
}

TensorMap tensorOf(Object& object, uint64_t address) {
  TensorMap map;
  const Name& type = object.choice("type", kTypes);
  map.dataType = type.number;
  const json& dims = object.at("dims");
  if (!dims.is_array() || dims.empty() || dims.size() > kMaximumRank) object.fail("\"dims\" must be a list of 1 to 5 numbers");
  map.rank = static_cast<uint32_t>(dims.size());
  object.integers("dims", map.rank, map.dims);
  map.globalAddress = address + (object.has("offset") ? object.integer<uint64_t>("offset") : 0);
  if (object.has("strides")) {
    object.integers("strides", map.rank - 1, map.strides);
  } else {
    uint64_t dense = type.bits;
    for (uint32_t i = 0; i + 1 < map.rank; ++i) map.strides[i] = (dense *= map.dims[i]) / 8;
  }
  if (object.has("elementStrides")) object.integers("elementStrides", map.rank, map.elementStrides);
  if (object.has("swizzle")) map.swizzle = object.choice("swizzle", kSwizzles).number;
  if (object.has("interleave")) map.interleave = object.choice("interleave", kInterleaves).number;
  if (object.has("fill")) map.fill = object.choice("fill", kFills).number;
  return map;
}

}  // namespace

TensorMapImage tensorMapFromJson(const std::string& text, const std::string& origin,
                                 const std::function<uint64_t(const std::string&)>& addressOf) {
  json parsed;
  try {
    parsed = json::parse(text);
  } catch (const json::parse_error& error) {
    throw UserError(fmt::format("{}: {}", origin, error.what()));
  }
  Object object(parsed, origin);
  TensorMap map = tensorOf(object, addressOf(bufferName(object)));
  if (object.has("im2col")) {
    if (map.rank < 3) object.fail("\"im2col\" needs 3 to 5 dimensions");
    Object walk(object.at("im2col"), origin + ", \"im2col\"");
    TensorMap::Pixels pixels;
    walk.integers("lowerCorner", map.rank - 2, pixels.lowerCorner);
    walk.integers("upperCorner", map.rank - 2, pixels.upperCorner);
    pixels.channelsPerPixel = walk.integer<uint32_t>("channelsPerPixel");
    pixels.pixelsPerColumn = walk.integer<uint32_t>("pixelsPerColumn");
    walk.refuseUnknownKeys();
    map.pixels = pixels;
  } else {
    object.integers("box", map.rank, map.box);
  }
  object.refuseUnknownKeys();
  const auto image = encode(map);
  if (!image) object.fail(image.error().message);
  return *image;
}

}  // namespace ptxrun
