#include "tests/hardware_recordings/form_table.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>

namespace shiftconv::recordings {
namespace {

constexpr std::array<std::string_view, 5> kInputNames{"%a", "%b", "%c", "%e", "%f"};
constexpr uint32_t kThreadsPerBlock = 256;
constexpr std::byte kPoison{0xEE};

std::string registerType(Kind kind) {
  if (kind == Kind::Pred) return ".pred";
  return fmt::format(".b{}", kind == Kind::I8 ? 32 : 8 * bytesOf(kind));
}

std::string memoryType(Kind kind) { return fmt::format("b{}", 8 * bytesOf(kind)); }

/// Arrays of operands stand one behind the other: %array + offset + i * bytes.
std::string element(std::string_view array, size_t offset, Kind kind) {
  return fmt::format("  mul.wide.u32 %address, %i, {};\n  add.u64 %address, %address, {};\n", bytesOf(kind), array) +
         (offset ? fmt::format("  add.u64 %address, %address, {};\n", offset) : std::string());
}

std::string kernelText(const std::vector<Kind>& inputs, const std::vector<Kind>& outputs, const std::string& body,
                       const FormOptions& options, size_t sets) {
  std::string text = fmt::format(".version 9.0\n.target {}\n.address_size 64\n{}", options.target, options.moduleText);
  text += ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n";
  text += "  .reg .b64 %in, %out, %address;\n  .reg .b32 %i, %lane, %word;\n  .reg .b32 %block;\n";
  for (size_t k = 0; k < inputs.size(); ++k) text += fmt::format("  .reg {} {};\n", registerType(inputs[k]), kInputNames[k]);
  for (size_t k = 0; k < outputs.size(); ++k) text += fmt::format("  .reg {} %x{};\n", registerType(outputs[k]), k);
  text +=
      "  ld.param.u64 %in, [in];\n  ld.param.u64 %out, [out];\n"
      "  mov.u32 %i, %ctaid.x;\n  mov.u32 %block, %ntid.x;\n  mov.u32 %word, %tid.x;\n"
      "  mad.lo.u32 %i, %i, %block, %word;\n  and.b32 %lane, %i, 31;\n";
  size_t offset = 0;
  for (size_t k = 0; k < inputs.size(); ++k) {
    text += element("%in", offset, inputs[k]);
    if (inputs[k] == Kind::Pred)
      text += fmt::format("  ld.global.b32 %word, [%address];\n  setp.ne.u32 {}, %word, 0;\n", kInputNames[k]);
    else
      text += fmt::format("  ld.global.{} {}, [%address];\n", memoryType(inputs[k]), kInputNames[k]);
    offset += sets * bytesOf(inputs[k]);
  }
  text += "  {\n    " + body + "\n  }\n";
  offset = 0;
  for (size_t k = 0; k < outputs.size(); ++k) {
    text += element("%out", offset, outputs[k]);
    if (outputs[k] == Kind::Pred)
      text += fmt::format("  selp.b32 %word, 1, 0, %x{};\n  st.global.b32 [%address], %word;\n", k);
    else
      text += fmt::format("  st.global.{} [%address], %x{};\n", memoryType(outputs[k]), k);
    offset += sets * bytesOf(outputs[k]);
  }
  return text + "  ret;\n}\n";
}

Case makeCase(const std::string& name, const std::vector<Kind>& inputs, const std::vector<Kind>& outputs, const std::string& body,
              const FormOptions& options) {
  const auto sets = std::make_shared<const std::vector<OperandSet>>(
      drawOperands(inputs, options.count, kSuiteSeed ^ hashText(name), options.filter));
  const size_t count = sets->size();
  Case made;
  made.ptx = kernelText(inputs, outputs, body, options, count);
  const uint32_t block = count < kThreadsPerBlock ? static_cast<uint32_t>(count) : kThreadsPerBlock;
  made.launch = {.grid = {static_cast<uint32_t>(count) / block, 1, 1}, .block = {block, 1, 1}, .cluster = {}, .dynamicShared = 0};
  size_t inputBytes = 0, outputBytes = 0;
  for (const Kind kind : inputs) inputBytes += count * bytesOf(kind);
  for (const Kind kind : outputs) outputBytes += count * bytesOf(kind);
  Buffer in;
  in.bytes.resize(inputBytes ? inputBytes : 16);
  std::byte* at = in.bytes.data();
  for (size_t k = 0; k < inputs.size(); ++k)
    for (size_t i = 0; i < count; ++i, at += bytesOf(inputs[k])) std::memcpy(at, &(*sets)[i][k], bytesOf(inputs[k]));
  made.buffers = {std::move(in), Buffer{std::vector<std::byte>(outputBytes, kPoison), true}};
  made.arguments = {{Argument::Kind::Buffer, 0}, {Argument::Kind::Buffer, 1}};
  made.tolerance = options.tolerance;
  made.explain = [sets, inputs, outputs](size_t byte) {
    size_t k = 0;
    while (k + 1 < outputs.size() && byte >= sets->size() * bytesOf(outputs[k])) byte -= sets->size() * bytesOf(outputs[k++]);
    const size_t i = byte / bytesOf(outputs[k]);
    std::string text = fmt::format("set {} result x{}, operands", i, k);
    for (size_t n = 0; n < inputs.size(); ++n) text += fmt::format(" {:#0{}x}", (*sets)[i][n], 2 + 2 * bytesOf(inputs[n]));
    return text;
  };
  return made;
}

}  // namespace

std::vector<std::string> expandBraces(std::string_view pattern) {
  const size_t open = pattern.find('{');
  if (open == std::string_view::npos) return {std::string(pattern)};
  const size_t close = pattern.find('}', open);
  if (close == std::string_view::npos) throw std::logic_error(fmt::format("unclosed brace in {}", pattern));
  const std::vector<std::string> tails = expandBraces(pattern.substr(close + 1));
  std::vector<std::string> expanded;
  std::string_view choices = pattern.substr(open + 1, close - open - 1);
  for (bool more = true; more;) {
    const size_t comma = choices.find(',');
    more = comma != std::string_view::npos;
    for (const std::string& tail : tails)
      expanded.push_back(std::string(pattern.substr(0, open)) + std::string(choices.substr(0, comma)) + tail);
    if (more) choices.remove_prefix(comma + 1);
  }
  return expanded;
}

Kind kindNamed(std::string_view type) {
  static const std::map<std::string_view, Kind> kinds{
      {"pred", Kind::Pred},   {"b8", Kind::I8},         {"u8", Kind::I8},         {"s8", Kind::I8},        {"b16", Kind::I16},
      {"u16", Kind::I16},     {"s16", Kind::I16},       {"b32", Kind::I32},       {"u32", Kind::I32},      {"s32", Kind::I32},
      {"b64", Kind::I64},     {"u64", Kind::I64},       {"s64", Kind::I64},       {"f16", Kind::F16},      {"bf16", Kind::BF16},
      {"f32", Kind::F32},     {"tf32", Kind::F32},      {"f64", Kind::F64},       {"u16x2", Kind::I16x2},  {"s16x2", Kind::I16x2},
      {"f16x2", Kind::F16x2}, {"bf16x2", Kind::BF16x2}, {"e4m3x2", Kind::E4M3x2}, {"e5m2x2", Kind::E5M2x2}};
  const auto found = kinds.find(type);
  if (found == kinds.end()) throw std::logic_error(fmt::format("'{}' is no operand type", type));
  return found->second;
}

void FormTable::uniform(std::string_view pattern, unsigned operands, FormOptions options) {
  for (const std::string& name : expandBraces(pattern)) {
    const Kind kind = kindNamed(std::string_view(name).substr(name.rfind('.') + 1));
    form(name, std::vector<Kind>(operands, kind), {kind}, options);
  }
}

void FormTable::form(std::string_view pattern, const std::vector<Kind>& inputs, const std::vector<Kind>& outputs,
                     const FormOptions& options) {
  for (const std::string& name : expandBraces(pattern)) {
    std::string text = name;
    for (size_t k = 0; k < outputs.size(); ++k) text += fmt::format("{}%x{}", k ? ", " : " ", k);
    for (size_t k = 0; k < inputs.size(); ++k) text += fmt::format(", {}", kInputNames[k]);
    body(name, inputs, outputs, text + ";", options);
  }
}

void FormTable::body(const std::string& name, const std::vector<Kind>& inputs, const std::vector<Kind>& outputs,
                     const std::string& text, const FormOptions& options) {
  cases_.push_back({family_, name, [=] { return makeCase(name, inputs, outputs, text, options); }});
}

}  // namespace shiftconv::recordings
