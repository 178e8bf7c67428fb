#include "examples/ptxrun/tensor_map_json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "examples/ptxrun/user_error.hpp"

namespace ptxrun {
namespace {

using nlohmann::json;
using namespace shiftconv::emulator::tma;

template <class Enumerator>
using Names = std::vector<std::pair<std::string_view, Enumerator>>;

const Names<DataType> kTypes{{"u8", DataType::U8},           {"u16", DataType::U16},   {"u32", DataType::U32},
                             {"i32", DataType::S32},         {"u64", DataType::U64},   {"i64", DataType::S64},
                             {"f16", DataType::F16},         {"f32", DataType::F32},   {"f64", DataType::F64},
                             {"bf16", DataType::BF16},       {"tf32", DataType::TF32}, {"f32_ftz", DataType::F32Ftz},
                             {"tf32_ftz", DataType::TF32Ftz}};
const Names<Swizzle> kSwizzles{{"none", Swizzle::None},
                               {"32B", Swizzle::B32},
                               {"64B", Swizzle::B64},
                               {"128B", Swizzle::B128},
                               {"128B_ATOM_32B", Swizzle::B128Atom32},
                               {"128B_ATOM_32B_FLIP_8B", Swizzle::B128Atom32Flip8},
                               {"128B_ATOM_64B", Swizzle::B128Atom64}};
const Names<Interleave> kInterleaves{{"none", Interleave::None}, {"16B", Interleave::B16}, {"32B", Interleave::B32}};
const Names<Fill> kFills{{"zero", Fill::Zero}, {"nan", Fill::NanRequestZeroFma}};

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

  template <class Enumerator>
  Enumerator choice(const char* key, const Names<Enumerator>& names) {
    const json& value = at(key);
    std::string known;
    for (const auto& [name, enumerator] : names) {
      if (value.is_string() && value.get<std::string>() == name) return enumerator;
      known += fmt::format(" {}", name);
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

TiledMap tensorOf(Object& object, uint64_t address) {
  TiledMap map;
  map.type = object.choice("type", kTypes);
  const json& dims = object.at("dims");
  if (!dims.is_array() || dims.empty() || dims.size() > kMaximumRank) object.fail("\"dims\" must be a list of 1 to 5 numbers");
  map.rank = static_cast<uint32_t>(dims.size());
  object.integers("dims", map.rank, map.dims);
  map.globalAddress = address + (object.has("offset") ? object.integer<uint64_t>("offset") : 0);
  if (object.has("strides")) {
    object.integers("strides", map.rank - 1, map.strides);
  } else {
    uint64_t dense = elementBits(map.type) / 8;
    for (uint32_t i = 0; i + 1 < map.rank; ++i) map.strides[i] = dense *= map.dims[i];
  }
  if (object.has("elementStrides")) object.integers("elementStrides", map.rank, map.elementStrides);
  if (object.has("swizzle")) map.swizzle = object.choice("swizzle", kSwizzles);
  if (object.has("interleave")) map.interleave = object.choice("interleave", kInterleaves);
  if (object.has("fill")) map.fill = object.choice("fill", kFills);
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
  TiledMap map = tensorOf(object, addressOf(bufferName(object)));
  TensorMapImage image;
  std::string refusal;
  if (object.has("im2col")) {
    if (map.rank < 3) object.fail("\"im2col\" needs 3 to 5 dimensions");
    Object walk(object.at("im2col"), origin + ", \"im2col\"");
    PixelBox pixels;
    walk.integers("lowerCorner", map.rank - 2, pixels.lowerCorner);
    walk.integers("upperCorner", map.rank - 2, pixels.upperCorner);
    pixels.channelsPerPixel = walk.integer<uint32_t>("channelsPerPixel");
    pixels.pixelsPerColumn = walk.integer<uint32_t>("pixelsPerColumn");
    walk.refuseUnknownKeys();
    refusal = encodeIm2col(map, pixels, image);
  } else {
    object.integers("box", map.rank, map.box);
    refusal = encodeTiled(map, image);
  }
  object.refuseUnknownKeys();
  if (!refusal.empty()) object.fail(refusal);
  return image;
}

}  // namespace ptxrun
