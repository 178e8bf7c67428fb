#include "tests/conv/kernel/planned_launch.hpp"

#include <cstring>
#include <stdexcept>
#include <vector>

#include "common/emulator/tma/tensor_map.hpp"

namespace shiftconv::tests {
namespace {

struct alignas(layout::TensorMapImage) Block {
  std::byte bytes[sizeof(layout::TensorMapImage)];
};

layout::TensorMapImage encode(const plan::MapDescription& description, uint64_t address) {
  layout::TensorMapImage image;
  std::string why;
  if (const auto* tiled = std::get_if<layout::TiledMap>(&description)) {
    layout::TiledMap placed = *tiled;
    placed.globalAddress = address;
    why = emulator::tma::encodeTiled(placed, image);
  } else {
    layout::Im2colMap placed = std::get<layout::Im2colMap>(description);
    placed.tensor.globalAddress = address;
    why = emulator::tma::encodeIm2col(placed.tensor, placed.pixels, image);
  }
  if (!why.empty()) throw std::invalid_argument(why);
  return image;
}

}  // namespace

Observation launchPlanned(DeviceRun& device, const plan::PlannedLaunch& launch, const PerTensor<uint64_t>& tensors,
                          const emulator::Options& options) {
  std::vector<std::vector<Block>> storage;
  std::vector<const void*> arguments;
  for (const plan::Parameter& parameter : launch.parameters) {
    std::vector<Block>& blocks = storage.emplace_back((parameter.bytes().size() + sizeof(Block) - 1) / sizeof(Block));
    std::byte* const bytes = blocks.data()->bytes;
    arguments.push_back(bytes);
    std::memcpy(bytes, parameter.bytes().data(), parameter.bytes().size());
    for (const auto& field : parameter.addresses()) {
      const uint64_t base = tensors[field.place.tensor], address = base == 0 ? 0 : base + field.place.byteOffset;
      std::memcpy(bytes + field.offset, &address, sizeof(address));
    }
    for (const auto& field : parameter.maps()) {
      if (tensors[field.place.tensor] == 0) continue;
      const layout::TensorMapImage image = encode(field.description, tensors[field.place.tensor] + field.place.byteOffset);
      std::memcpy(bytes + field.offset, &image, sizeof(image));
    }
  }
  return device.launch(launch.config, arguments, options);
}

}  // namespace shiftconv::tests
