#include "common/emulator/tools/ptxrun/structure_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/emulator/tools/ptxrun/user_error.hpp"

namespace ptxrun {
namespace {

using nlohmann::json;
using Bytes = std::vector<std::byte>;

constexpr size_t kTensorMapAlignment = 64;  // alignas of CUtensorMap in cuda.h

size_t roundUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

class Layout {
 public:
  using ValueOf = std::function<Bytes(const std::string&)>;
  Layout(const std::string& origin, const ValueOf& valueOf) : origin_(origin), valueOf_(valueOf) {}

  struct Part {
    Bytes bytes;
    size_t alignment = 1;
  };

  Part list(const json& fields, const std::string& place) const {
    if (!fields.is_array()) throw UserError(fmt::format("{}{}: a list [ ... ] of fields is expected", origin_, place));
    Part whole;
    for (size_t i = 0; i < fields.size(); ++i) {
      const Part part = field(fields[i], fmt::format("{}[{}]", place, i));
      whole.alignment = std::max(whole.alignment, part.alignment);
      whole.bytes.resize(roundUp(whole.bytes.size(), part.alignment));
      whole.bytes.insert(whole.bytes.end(), part.bytes.begin(), part.bytes.end());
    }
    whole.bytes.resize(roundUp(whole.bytes.size(), whole.alignment));
    return whole;
  }

 private:
  Part field(const json& value, const std::string& place) const {
    if (value.is_array()) return list(value, place);
    std::string argument;
    if (value.is_string())
      argument = value.get<std::string>();
    else if (value.is_object() && value.size() == 1 && value.contains("tmap"))
      argument = "tmap:" + value["tmap"].dump();
    else
      throw UserError(
          fmt::format("{}{}: a field is \"KIND:VALUE\", {{\"tmap\": {{...}}}} or a list, not {}", origin_, place, value.dump()));
    try {
      Part part{valueOf_(argument), 1};
      const bool isMap = argument.starts_with("tmap:");
      if (isMap || !argument.starts_with("bytes:")) part.alignment = isMap ? kTensorMapAlignment : part.bytes.size();
      return part;
    } catch (const UserError& error) {
      throw UserError(fmt::format("{}{}: {}", origin_, place, error.what()));
    }
  }

  const std::string& origin_;
  const ValueOf& valueOf_;
};

}  // namespace

Bytes structureFromJson(const std::string& text, const std::string& origin,
                        const std::function<Bytes(const std::string&)>& valueOf) {
  json parsed;
  try {
    parsed = json::parse(text);
  } catch (const json::parse_error& error) {
    throw UserError(fmt::format("{}: {}", origin, error.what()));
  }
  return Layout(origin, valueOf).list(parsed, "").bytes;
}

}  // namespace ptxrun
