// Cases on the emulator.
#include <cstring>

#include "common/emulator/emulator.hpp"
#include "common/emulator/tma/tensor_map.hpp"
#include "tests/hardware_recordings/backend.hpp"

namespace shiftconv::recordings {
namespace {

using emulator::EmulatorError;
using emulator::ErrorKind;
namespace tma = emulator::tma;

/// No case of the suite needs anywhere near this many; it ends kernels that hang.
constexpr uint64_t kInstructionLimit = 50'000'000;

tma::TiledMap tiledMap(const TensorMap& map, uint64_t base) {
  tma::TiledMap tiled;
  tiled.type = static_cast<tma::DataType>(map.type);
  tiled.rank = map.rank;
  tiled.globalAddress = base + map.byteOffset;
  tiled.dims = map.dims;
  for (size_t i = 0; i < map.strides.size(); ++i) tiled.strides[i] = map.strides[i];
  tiled.box = map.box;
  tiled.elementStrides = map.elementStrides;
  tiled.interleave = static_cast<tma::Interleave>(map.interleave);
  tiled.swizzle = static_cast<tma::Swizzle>(map.swizzle);
  tiled.fill = static_cast<tma::Fill>(map.fill);
  return tiled;
}

std::string encode(const TensorMap& map, uint64_t base, tma::TensorMapImage& image) {
  const tma::TiledMap tiled = tiledMap(map, base);
  if (!map.pixels) return tma::encodeTiled(tiled, image);
  return tma::encodeIm2col(tiled, {map.pixels->lower, map.pixels->upper, map.pixels->channels, map.pixels->pixels}, image);
}

class EmulatorBackend final : public Backend {
 public:
  std::string device() const override { return "ShiftConv emulator"; }
  std::string driver() const override { return "none"; }

  Observation run(const Case& made) override {
    // Every case has an emulator of its own: nothing a case leaves behind can help the next one.
    emulator::Emulator machine;
    std::vector<uint64_t> addresses;
    std::vector<tma::TensorMapImage> maps(made.maps.size());
    for (const Buffer& buffer : made.buffers) {
      addresses.push_back(machine.memory().allocate(buffer.bytes.size()));
      std::memcpy(machine.memory().access(addresses.back(), buffer.bytes.size(), 1, true), buffer.bytes.data(),
                  buffer.bytes.size());
    }
    for (size_t i = 0; i < maps.size(); ++i)
      if (const std::string why = encode(made.maps[i], addresses[made.maps[i].buffer], maps[i]); !why.empty())
        return {Outcome::MapRefused, why, {}};
    std::shared_ptr<const emulator::LoadedModule> module;
    try {
      module = machine.load(made.ptx, "hardware_recordings");
    } catch (const EmulatorError& error) {
      return {error.kind() == ErrorKind::Unsupported ? Outcome::NotImplemented : Outcome::ModuleRefused, error.what(), {}};
    }
    std::vector<const void*> parameters;
    for (const Argument& argument : made.arguments) {
      if (argument.kind == Argument::Kind::Buffer) parameters.push_back(&addresses[argument.index]);
      if (argument.kind == Argument::Kind::Map) parameters.push_back(&maps[argument.index]);
      if (argument.kind == Argument::Kind::Value) parameters.push_back(&argument.index);
    }
    const auto dim = [](const Extent& extent) { return emulator::machine::Dim3{extent.x, extent.y, extent.z}; };
    const emulator::machine::LaunchConfig config{dim(made.launch.grid), dim(made.launch.block), dim(made.launch.cluster),
                                                 made.launch.dynamicShared};
    emulator::Options options;
    options.instructionLimit = kInstructionLimit;
    try {
      machine.launch(*module, made.kernel, config, parameters, options);
    } catch (const EmulatorError& error) {
      return {error.kind() == ErrorKind::Unsupported ? Outcome::NotImplemented : Outcome::LaunchFailed, error.what(), {}};
    }
    Observation seen;
    for (size_t i = 0; i < made.buffers.size(); ++i) {
      if (!made.buffers[i].observed) continue;
      const size_t size = made.buffers[i].bytes.size();
      const std::byte* first = machine.memory().access(addresses[i], size, 1, false);
      seen.bytes.insert(seen.bytes.end(), first, first + size);
    }
    return seen;
  }
};

}  // namespace

std::unique_ptr<Backend> makeEmulatorBackend(std::string&) { return std::make_unique<EmulatorBackend>(); }

}  // namespace shiftconv::recordings
