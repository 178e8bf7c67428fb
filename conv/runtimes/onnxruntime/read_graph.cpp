#include "conv/runtimes/onnxruntime/read_graph.hpp"

#include <cstring>
#include <unordered_map>

#include "conv/runtimes/onnxruntime/infer_shapes.hpp"

namespace shiftconv::runtimes::onnx {
namespace {

void check(Ort::Status&& status) {
  if (!status.IsOK()) throw Ort::Exception(status.GetErrorMessage(), status.GetErrorCode());
}

template <class Type>
Attribute valueOf(const Ort::ConstOpAttr& attribute) {
  Type value{};
  check(attribute.GetValue(value));
  return value;
}
template <class Type>
Attribute valuesOf(const Ort::ConstOpAttr& attribute) {
  std::vector<Type> values;
  check(attribute.GetValueArray(values));
  return values;
}

std::map<std::string, Attribute> attributesOf(const Ort::ConstNode& node) {
  std::map<std::string, Attribute> attributes;
  for (const Ort::ConstOpAttr& attribute : node.GetAttributes()) {
    if (attribute == nullptr) continue;
    const std::string name = attribute.GetName();
    switch (attribute.GetType()) {
      case ORT_OP_ATTR_INT:
        attributes.emplace(name, valueOf<int64_t>(attribute));
        break;
      case ORT_OP_ATTR_FLOAT:
        attributes.emplace(name, valueOf<float>(attribute));
        break;
      case ORT_OP_ATTR_STRING:
        attributes.emplace(name, valueOf<std::string>(attribute));
        break;
      case ORT_OP_ATTR_INTS:
        attributes.emplace(name, valuesOf<int64_t>(attribute));
        break;
      case ORT_OP_ATTR_FLOATS:
        attributes.emplace(name, valuesOf<float>(attribute));
        break;
      default:
        break;  // no operator that is claimed has others
    }
  }
  return attributes;
}

class Reader {
 public:
  explicit Reader(size_t constantBytes) : constantBytes_(constantBytes) {}

  Graph read(const Ort::ConstGraph& graph) {
    for (const Ort::ConstNode& from : graph.GetNodes()) {
      Node node{from.GetName(), from.GetOperatorType(), from.GetDomain(), from.GetSinceVersion(), attributesOf(from), {}, {}};
      for (const Ort::ConstValueInfo& value : from.GetInputs()) node.inputs.push_back(indexOf(value));
      for (const Ort::ConstValueInfo& value : from.GetOutputs()) node.outputs.push_back(indexOf(value));
      // Values that the bodies of a node read are its inputs, too.
      for (const Ort::ConstValueInfo& value : from.GetImplicitInputs()) node.inputs.push_back(indexOf(value));
      result_.nodes.push_back(std::move(node));
    }
    inferShapes(result_);
    return std::move(result_);
  }

 private:
  int indexOf(const Ort::ConstValueInfo& info) {
    if (info == nullptr) return kAbsent;
    const std::string name = info.GetName();
    if (name.empty()) return kAbsent;
    const auto [found, isNew] = indices_.emplace(name, static_cast<int>(result_.values.size()));
    if (isNew) result_.values.push_back(valueOf(name, info));
    return found->second;
  }

  Value valueOf(const std::string& name, const Ort::ConstValueInfo& info) const {
    Value value;
    value.name = name;
    value.isConstant = info.IsConstantInitializer();
    value.isOutput = info.IsGraphOutput();
    if (const Ort::ConstTypeInfo type = info.TypeInfo(); type.GetONNXType() == ONNX_TYPE_TENSOR) {
      const auto tensor = type.GetTensorTypeAndShapeInfo();
      value.type = libraryType(static_cast<int32_t>(tensor.GetElementType()));
      value.shape = tensor.GetShape();
    }
    if (value.isConstant) {
      Ort::ConstValue constant;
      check(info.GetInitializer(constant));
      const size_t bytes = constant.GetTensorSizeInBytes();
      if (bytes <= constantBytes_) {
        value.data.resize(bytes);
        std::memcpy(value.data.data(), constant.GetTensorRawData(), bytes);
      }
    }
    return value;
  }

  size_t constantBytes_;
  Graph result_;
  std::unordered_map<std::string, int> indices_;
};

}  // namespace

Graph readGraph(const Ort::ConstGraph& graph, size_t constantBytes) { return Reader(constantBytes).read(graph); }

}  // namespace shiftconv::runtimes::onnx
