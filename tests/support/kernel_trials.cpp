#include "tests/support/kernel_trials.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace shiftconv::tests {
namespace {

class LoadedKernel : public LoadedSubject {
 public:
  LoadedKernel(std::string_view ptx, std::string kernel, std::shared_ptr<const std::vector<KernelTrial>> trials)
      : module_(emulator_.load(ptx, kernel)), kernel_(std::move(kernel)), trials_(std::move(trials)) {}

  Observation run(size_t trial, const emulator::Options& options) override {
    DeviceRun run(emulator_, *module_, kernel_, observe_);
    return trials_->at(trial).run(run, options);
  }
  void watch(emulator::machine::ObserverFactory observe) override { observe_ = std::move(observe); }

 private:
  emulator::Emulator emulator_;
  std::shared_ptr<const emulator::LoadedModule> module_;
  std::string kernel_;
  std::shared_ptr<const std::vector<KernelTrial>> trials_;
  emulator::machine::ObserverFactory observe_;
};

}  // namespace

DeviceRun::~DeviceRun() {
  for (const uint64_t address : allocations_) emulator_.memory().release(address);
}

uint64_t DeviceRun::reserve(uint64_t bytes) {
  allocations_.push_back(emulator_.memory().allocate(bytes));
  return allocations_.back();
}

void DeviceRun::release(uint64_t address) {
  emulator_.memory().release(address);
  std::erase(allocations_, address);
}

Observation DeviceRun::launch(const emulator::machine::LaunchConfig& config, std::span<const void* const> arguments,
                              const emulator::Options& options) {
  emulator::LaunchReport report = emulator_.launch(module_, kernel_, config, arguments, options, observe_);
  return {{}, std::move(report.hazards), std::move(report.counters)};
}

emulator::tma::TensorMapImage swizzledMap(emulator::tma::DataType type, uint64_t address, std::vector<uint64_t> dims,
                                          std::vector<uint32_t> box) {
  emulator::tma::TiledMap map;
  map.type = type;
  map.rank = static_cast<uint32_t>(dims.size());
  map.globalAddress = address;
  uint64_t stride = emulator::tma::elementBits(type) / 8;
  for (size_t i = 0; i < dims.size(); ++i) {
    map.dims[i] = dims[i];
    map.box[i] = box.at(i);
    stride *= dims[i];
    if (i + 1 < dims.size()) map.strides[i] = stride;
  }
  const uint32_t width = box.at(0) * emulator::tma::elementBits(type) / 8;
  map.swizzle = width == 32   ? emulator::tma::Swizzle::B32
                : width == 64 ? emulator::tma::Swizzle::B64
                              : emulator::tma::Swizzle::B128;
  emulator::tma::TensorMapImage image;
  if (const std::string why = emulator::tma::encodeTiled(map, image); !why.empty()) throw std::invalid_argument(why);
  return image;
}

template <class T>
std::string firstDifference(const std::vector<T>& computed, const std::vector<T>& expected, std::string_view what) {
  for (size_t i = 0; i < expected.size(); ++i)
    if (std::memcmp(&computed.at(i), &expected[i], sizeof(T)) != 0)
      return fmt::format("{} element {}: computed {}, expected {}", what, i, computed[i], expected[i]);
  return {};
}
template std::string firstDifference(const std::vector<uint8_t>&, const std::vector<uint8_t>&, std::string_view);
template std::string firstDifference(const std::vector<uint16_t>&, const std::vector<uint16_t>&, std::string_view);
template std::string firstDifference(const std::vector<uint32_t>&, const std::vector<uint32_t>&, std::string_view);
template std::string firstDifference(const std::vector<float>&, const std::vector<float>&, std::string_view);

Subject makeSubject(std::string kernel, std::string ptx, std::vector<KernelTrial> trials) {
  Subject subject;
  for (const KernelTrial& trial : trials) subject.trials.push_back(trial.name);
  const auto shared = std::make_shared<const std::vector<KernelTrial>>(std::move(trials));
  subject.load = [kernel, shared](std::string_view text) { return std::make_unique<LoadedKernel>(text, kernel, shared); };
  subject.kernel = std::move(kernel);
  subject.source = SourcePositions(ptx);
  subject.ptx = std::move(ptx);
  return subject;
}

}  // namespace shiftconv::tests
