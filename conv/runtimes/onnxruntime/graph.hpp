// An ONNX graph, or the part of one that the provider has been given, as plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace shiftconv::runtimes::onnx {

/// Extents in ONNX's order; -1 where one is known at run time only.
using Shape = std::vector<int64_t>;

/// Of the library, for the element types that it has.
std::optional<int32_t> libraryType(int32_t onnxType);
size_t elementBytes(int32_t libraryType);

struct Value {
  std::string name;
  std::optional<int32_t> type;  ///< shiftconv_type_t; nothing: a type that the library lacks
  Shape shape;                  ///< of a tensor whose rank is known; else empty
  bool isConstant = false;
  bool isOutput = false;        ///< leaves the graph
  std::vector<std::byte> data;  ///< of constants, where they were asked for
};

using Attribute = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>>;

inline constexpr int kAbsent = -1;

struct Node {
  std::string name, op, domain;
  int version = 0;  ///< of the operator set that defined it
  std::map<std::string, Attribute> attributes;
  std::vector<int> inputs, outputs;  ///< of Graph::values, or kAbsent

  int input(size_t i) const { return i < inputs.size() ? inputs[i] : kAbsent; }
  template <class Type>
  Type attribute(const std::string& key, Type otherwise) const {
    const auto found = attributes.find(key);
    if (found == attributes.end()) return otherwise;
    const Type* value = std::get_if<Type>(&found->second);
    return value ? *value : otherwise;
  }
};

struct Graph {
  std::vector<Value> values;
  std::vector<Node> nodes;  ///< in an order in which they may run

  const Value& value(int index) const { return values[static_cast<size_t>(index)]; }
  /// Nodes that read a value.
  std::vector<size_t> consumers(int value) const;
};

/// Small constants as numbers: of int64, f32, or f16 tensors; nothing for others.
std::optional<std::vector<double>> numbersOf(const Value& value);

}  // namespace shiftconv::runtimes::onnx
