// What only a GPU has: binaries, JIT compilation, the driver's own words in errors.
#include <array>

#include "common/device/embedded_ptx.hpp"
#include "tests/device/seam_fixture.hpp"

namespace shiftconv::device::tests {
namespace {

TEST_F(SeamTest, LoadsTheBinaryAlone) {
  const ModuleImage binary = image();
  const Module* module = nullptr;
  ASSERT_SUCCESS(device_->loadModule(binary, module));
}

TEST_F(SeamTest, FallsBackToPtxWhenTheBinaryIsOfNoUse) {
  ModuleImage text = image();
  const std::array<PtxImage, 2> texts{{{"sm_100a", ptxFor(text, "sm_100a")}, {"sm_90a", ptxFor(text, "sm_90a")}}};
  text.ptx = texts;
  const std::string broken = "not a cubin";
  text.fatbin = std::as_bytes(std::span(broken.c_str(), broken.size() + 1));
  const Module* module = nullptr;
  ASSERT_SUCCESS(device_->loadModule(text, module));
}

TEST_F(SeamTest, QuotesTheDriver) {
  const PtxImage nonsense{"sm_90", "this is not PTX"};
  const Module* module = nullptr;
  const Status status = device_->loadModule({"nonsense", {&nonsense, 1}, {}}, module);
  EXPECT_NE(status.message().find("cuModuleLoadDataEx failed: CUDA_ERROR_"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find(device_->properties().name), std::string::npos) << status.message();
}

TEST_F(SeamTest, KnowsItsProperties) {
  const Properties& properties = device_->properties();
  EXPECT_EQ(properties.kind, Kind::Cuda);
  EXPECT_FALSE(properties.name.empty());
  EXPECT_GE(properties.multiprocessors, 1u);
  EXPECT_GT(properties.l2Bytes, 1u << 20);
  EXPECT_GT(properties.globalBytes, uint64_t{1} << 30);
}

TEST_F(SeamTest, RefusesKernelsOfAnotherDevice) {
  std::unique_ptr<Device> emulated;
  ASSERT_SUCCESS(openDevice(Kind::Emulated, 0, emulated));
  const Module* module = nullptr;
  ASSERT_SUCCESS(emulated->loadModule(image(), module));
  const Kernel* foreign = nullptr;
  EXPECT_EQ(device_->findKernel(*module, "affine", foreign).code(), StatusCode::InvalidArgument);
}

TEST(CudaRegistry, RefusesDeviceNumbersThatDoNotExist) {
  std::unique_ptr<Device> device;
  const Status status = openDevice(Kind::Cuda, 1000, device);
  EXPECT_EQ(status.code(), StatusCode::NotFound) << status.message();
}

}  // namespace
}  // namespace shiftconv::device::tests
