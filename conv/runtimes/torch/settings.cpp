#include "conv/runtimes/torch/settings.hpp"

#include <bit>
#include <charconv>
#include <system_error>

#include "conv/runtimes/torch/sentences.hpp"

namespace shiftconv::torch_glue {
namespace {

/// Reads from the front of a text.
class Fields {
 public:
  explicit Fields(std::string_view text) : text_(text), rest_(text) {}

  std::string_view next() {
    const size_t space = rest_.find(' ');
    if (space == std::string_view::npos) fail();
    const std::string_view field = rest_.substr(0, space);
    rest_.remove_prefix(space + 1);
    return field;
  }
  template <class Number>
  Number number(std::string_view field) const {
    Number value{};
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || end != field.data() + field.size()) fail();
    return value;
  }
  Integers list() {
    Integers numbers;
    for (std::string_view field = next();;) {
      const size_t comma = field.find(',');
      numbers.add(number<int64_t>(field.substr(0, comma)));
      if (comma == std::string_view::npos) return numbers;
      field.remove_prefix(comma + 1);
    }
  }
  bool flag() {
    const std::string_view field = next();
    if (field != "0" && field != "1") fail();
    return field == "1";
  }
  std::string_view rest() const { return rest_; }

 private:
  [[noreturn]] void fail() const {
    refuse("settings", " must be \"stride padding dilation groups activation a b residual_last compute plan\", but is \"",
           std::string(text_), "\"");
  }

  std::string_view text_, rest_;
};

void append(std::string& bytes, uint64_t word) { bytes.append(reinterpret_cast<const char*>(&word), sizeof(word)); }

void append(std::string& bytes, const Integers& numbers) {
  append(bytes, numbers.count());
  for (size_t i = 0; i < numbers.count() && i < Integers::kMost; ++i) append(bytes, static_cast<uint64_t>(numbers[i]));
}

void append(std::string& bytes, const std::string& text) {
  append(bytes, text.size());
  bytes += text;
}

}  // namespace

Settings::Settings(const StableIValue* stack)
    : stride(stack[4]),
      padding(stack[5]),
      dilation(stack[6]),
      groups(static_cast<int64_t>(stack[7])),
      activation(takeText(stack[8])),
      activationA(std::bit_cast<double>(stack[9])),
      activationB(std::bit_cast<double>(stack[10])),
      residualLast(static_cast<bool>(stack[14])),
      compute(takeText(stack[12])),
      plan(takeText(stack[13])) {}

Settings parseSettings(std::string_view text) {
  Fields fields(text);
  Settings settings;
  settings.stride = fields.list();
  settings.padding = fields.list();
  settings.dilation = fields.list();
  settings.groups = fields.number<int64_t>(fields.next());
  settings.activation = fields.next();
  settings.activationA = fields.number<double>(fields.next());
  settings.activationB = fields.number<double>(fields.next());
  settings.residualLast = fields.flag();
  settings.compute = fields.next();
  settings.plan = fields.rest();
  return settings;
}

std::string bytesOf(const Settings& settings) {
  std::string bytes = "#";  // no list begins with it
  bytes.reserve(192);
  append(bytes, settings.stride);
  append(bytes, settings.padding);
  append(bytes, settings.dilation);
  append(bytes, static_cast<uint64_t>(settings.groups));
  append(bytes, settings.activation);
  append(bytes, std::bit_cast<uint64_t>(settings.activationA));
  append(bytes, std::bit_cast<uint64_t>(settings.activationB));
  append(bytes, static_cast<uint64_t>(settings.residualLast));
  append(bytes, settings.compute);
  append(bytes, settings.plan);
  return bytes;
}

}  // namespace shiftconv::torch_glue
