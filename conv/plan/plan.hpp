// A plan: how one algorithm computes one problem, as a list of launches over named tensors. Immutable once made, needs no device,
// shared by any number of threads. binding.hpp gives it addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "common/device/device.hpp"
#include "common/device/module_image.hpp"
#include "common/launch.hpp"
#include "common/layout/tensor_map.hpp"
#include "conv/plan/estimate.hpp"
#include "conv/plan/traffic.hpp"
#include "conv/problem/accumulation.hpp"
#include "conv/problem/problem.hpp"
#include "conv/problem/tensors.hpp"

namespace shiftconv::plan {

/// A place in a tensor.
struct TensorPlace {
  TensorName tensor;
  uint64_t byteOffset = 0;
};

using MapDescription = std::variant<layout::TiledMap, layout::Im2colMap>;

/// One parameter of a kernel: bytes, of which some are known only once the tensors' addresses are.
class Parameter {
 public:
  /// A tensor map as a parameter of its own. The description's globalAddress is ignored.
  static Parameter map(const MapDescription& description, TensorPlace place);

  /// A value that is passed as it is, such as a structure.
  template <class Value>
  static Parameter value(const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    Parameter parameter;
    parameter.bytes_.resize(sizeof(Value));
    std::memcpy(parameter.bytes_.data(), &value, sizeof(Value));
    return parameter;
  }

  /// The 8 bytes at `offset` will hold the address of `place`; 0 when the run has no such tensor.
  Parameter& address(size_t offset, TensorPlace place);
  /// The 128 bytes at `offset`, a multiple of 128, will hold an encoded map. Without such a tensor they stay as they are.
  Parameter& map(size_t offset, const MapDescription& description, TensorPlace place);

  /// What lies in tensor t from now on lies behind places[t].
  void relocate(const PerTensor<TensorPlace>& places);

  struct AddressField {
    size_t offset;
    TensorPlace place;
  };
  struct MapField {
    size_t offset;
    MapDescription description;
    TensorPlace place;
  };
  const std::vector<std::byte>& bytes() const { return bytes_; }
  const std::vector<AddressField>& addresses() const { return addresses_; }
  const std::vector<MapField>& maps() const { return maps_; }

 private:
  std::vector<std::byte> bytes_;
  std::vector<AddressField> addresses_;
  std::vector<MapField> maps_;
};

struct PlannedLaunch {
  device::ModuleImage image;
  std::string kernel;
  LaunchConfig config;
  std::vector<Parameter> parameters;
  std::vector<std::string> warpRoles;  ///< of a CTA, for counters and profiles
  /// Launches that do the same, where this one packs the filter and does more. A separated plan has them in its place.
  std::vector<PlannedLaunch> separated{};
  bool packsFilter = false;  ///< reads nothing but the filter and its factors, and writes into the packed filter only
};

/// Parameter::relocate of all parameters.
void relocate(PlannedLaunch& launch, const PerTensor<TensorPlace>& places);

struct Plan {
  Problem problem;
  device::Properties properties;  ///< of the device that it was made for
  std::string_view algorithm;     ///< a literal
  std::string options;            ///< makes the same plan again
  Estimate estimate;
  Traffic traffic;                      ///< of shift_stream, halo and im2col on sm_100
  std::vector<PlannedLaunch> launches;  ///< in the order in which they run; the first is never missing
  size_t mainLaunch = 0;                ///< the one that multiplies
  Accumulations sums;                   ///< of the algorithms that multiply
  size_t workspaceBytes = 0;            ///< that the launches have, without the packed filter
  /// What launches make of the filter alone (TensorName::PackedFilter). It lies at the end of the run's workspace; where
  /// filter_packing.hpp has separated the plan, in a tensor of its own.
  size_t packedBytes = 0;
  bool isPart = false;                       ///< of a separated plan
  PerTensor<bool> optional;                  ///< tensors that runs of a part do not touch
  std::string details;                       ///< lines about the algorithm's own choices
  std::string askedAlgorithm, askedOptions;  ///< what the planner was left without a choice of
  bool askedBatchInvariant = false, askedConstantFilter = false, askedNoWorkspace = false;
  std::string choice;  ///< lines about what it was chosen from; empty: choiceOf() makes them (conv/planner/candidates.hpp)

  const std::string& kernelName() const { return launches[mainLaunch].kernel; }
};

/// Where the packed filter lies in the workspace of a plan that is not separated.
size_t packedOffset(const Plan& plan);

/// Bytes of every tensor that a run takes.
PerTensor<size_t> bytesOfRun(const Plan& plan);

/// All of it, to read.
std::string describe(const Plan& plan);

}  // namespace shiftconv::plan
