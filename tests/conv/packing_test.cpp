// Plans that pack their filter once: the bits of the plan that they were separated from, and of the filter that was packed, which
// has a buffer of its own.
#include <gtest/gtest.h>
#include <shiftconv/packing.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/conv/api_fixture.hpp"
#include "tests/conv/convolution_case.hpp"

namespace shiftconv::tests::packing_test {
namespace {

using Bytes = std::vector<std::byte>;

class Packing : public testing::TestWithParam<std::string> {
 protected:
  Memory upload(const Bytes& bytes) {
    Memory memory(device_, std::max<size_t>(bytes.size(), 16));
    if (!bytes.empty()) device_.copyToDevice(memory.get(), bytes.data(), bytes.size());
    device_.synchronize();
    return memory;
  }
  Bytes download(const Memory& memory) {
    Bytes result(memory.bytes());
    device_.copyToHost(result.data(), memory.get(), result.size());
    device_.synchronize();
    return result;
  }
  Memory poisoned(size_t bytes) { return upload(Bytes(bytes, std::byte{0xCD})); }

  /// The first algorithm that takes the problem and packs something.
  std::string thatPacks(const Convolution& problem) {
    for (int i = 0; i < shiftconv_algorithm_count(); ++i) {
      const std::string algorithm = shiftconv_algorithm_name(i);
      PlanOptions options;
      options.algorithm = algorithm.c_str();
      if (!refusal(problem, device_.properties(), algorithm).empty()) continue;
      try {
        (void)Plan(problem, device_.properties(), options).separatePacking();
        return algorithm;
      } catch (const Error&) {  // this one packs nothing
      }
    }
    ADD_FAILURE() << "no algorithm packs anything";
    return {};
  }

  Device device_{GetParam()};
};

/// What a run has of its own, so that runs may overlap.
struct OwnTensors {
  Memory output, workspace;
  Tensors tensors;
};

struct Kind {
  const char* text;
  bool needsFilter;  ///< beside what was packed of it
};

TEST_P(Packing, OncePackedServesManyRunsAndWorkspaces) {
  for (const auto& [text, needsFilter] :
       {Kind{"1x5x7x16 f16 * 24x3x3x16 pad 1,1,1,1 stride 2,2 transposed output_padding 1,0 -> f16 bias relu | algorithm phases | "
             "options form=apart",
             false},
        // Phases that share a plan, but not what is packed for them.
        {"1x4x5x32 u8 zero 7 * 16x4x4x32 s8 pad 1,1,1,1 stride 2,2 transposed -> s32 | algorithm phases | options form=apart",
         false},
        {"1x5x4x32 f16 * 12x4x4x32 pad 1,1,1,1 stride 2,2 transposed -> f16 bias | algorithm phases | options form=united", false},
        {"1x5x6x16 f16 * 18x3x2x16 pad 1,0,1,1 flipped -> f16 bias | algorithm reversed", false},
        // The launch that packs repeats the bias, too, which may change.
        {"1x5x8x16 f16 * 18x3x2x16 pad 1,0,1,0 -> f16 bias channel_scale | algorithm joined", false},
        {"1x5x8x32 f16 * 24x3x2x8 groups 4 pad 1,0,1,0 -> f16 bias | algorithm merged", false},
        {"1x5x6x32 u8 zero 5 * 18x3x2x32 s8 pad 1,0,1,1 flipped -> s32 | algorithm reversed", false},
        {"2x4x6x32 u8 zero 7 * 16x3x3x32 s8 pad 1,0,1,1 -> s8 alpha 0.01 zero 3", true}}) {
    ConvolutionCase test = parseCase(text);
    if (needsFilter) test.algorithm = thatPacks(test.problem);
    SCOPED_TRACE(test.problem.describe() + " by " + test.algorithm);
    const CaseTensors one = makeTensors(test, 5), other = makeTensors(test, 6);
    const Plan plan = planFor(test, device_);
    const std::pair<Plan, Plan> parts = plan.separatePacking();
    const Plan &packing = parts.first, &rest = parts.second;
    const size_t packedBytes = rest.packedFilterBytes();
    ASSERT_GT(packedBytes, 0u);
    EXPECT_EQ(packing.packedFilterBytes(), packedBytes);
    EXPECT_EQ(plan.packedFilterBytes(), 0u);
    EXPECT_EQ(packing.workspaceBytes(), 0u);
    EXPECT_LE(rest.workspaceBytes() + packedBytes, plan.workspaceBytes());

    const Memory filter = upload(one.filter), firstInput = upload(one.input), secondInput = upload(other.input),
                 bias = upload(one.bias), channelScale = upload(one.channelScale), packed = poisoned(packedBytes);
    const auto prepare = [&](const Plan& which) {
      OwnTensors run{poisoned(test.problem.tensorBytes().output), poisoned(std::max<size_t>(which.workspaceBytes(), 256)), {}};
      run.tensors.filter = filter.get(), run.tensors.output = run.output.get();
      if (which.workspaceBytes() != 0) run.tensors.workspace = run.workspace.get();
      if (!one.bias.empty()) run.tensors.bias = bias.get();
      if (!one.channelScale.empty()) run.tensors.channel_scale = channelScale.get();
      return run;
    };
    const auto result = [&](const Plan& which, OwnTensors& run, const Memory& input) {
      run.tensors.input = input.get();
      device_.fill(run.output.get(), 0xCD, run.output.bytes());
      which.run(device_, run.tensors);
      return download(run.output);
    };
    OwnTensors whole = prepare(plan);
    const Bytes first = result(plan, whole, firstInput), second = result(plan, whole, secondInput);
    ASSERT_NE(first, second);

    // Nothing but the filter is needed to pack it, and nothing but the packed filter is written.
    Tensors toPack;
    toPack.filter = filter.get(), toPack.packed_filter = packed.get();
    packing.run(device_, toPack);
    OwnTensors alone = prepare(rest), two = prepare(rest);
    alone.tensors.packed_filter = two.tensors.packed_filter = packed.get();
    const Bytes before = download(packed), untouched = download(alone.output), scratch = download(alone.workspace);
    EXPECT_NE(before, Bytes(packedBytes, std::byte{0xCD}));
    packing.run(device_, alone.tensors);
    EXPECT_EQ(download(packed), before);
    EXPECT_EQ(download(alone.output), untouched) << "packing writes no output";
    EXPECT_EQ(download(alone.workspace), scratch) << "packing writes no workspace";

    if (!needsFilter) alone.tensors.filter = two.tensors.filter = nullptr;
    for (int run = 0; run < 2; ++run) {
      EXPECT_EQ(result(rest, alone, firstInput), first);
      EXPECT_EQ(result(rest, two, secondInput), second);
      // Others may use a workspace between runs.
      device_.fill(alone.workspace.get(), 0x5A, alone.workspace.bytes());
    }
    EXPECT_EQ(download(packed), before) << "runs only read it";

    // At the same time, each with its workspace.
    {
      device_.fill(alone.output.get(), 0xCD, alone.output.bytes()), device_.fill(two.output.get(), 0xCD, two.output.bytes());
      device_.synchronize();
      const Binding firstRun(rest, device_, alone.tensors), secondRun(rest, device_, two.tensors);
      Stream firstStream(device_), secondStream(device_);
      std::jthread beside([&] { firstRun.run(firstStream.get()); });
      secondRun.run(secondStream.get());
      beside.join();
      firstStream.synchronize(), secondStream.synchronize();
    }
    EXPECT_EQ(download(alone.output), first);
    EXPECT_EQ(download(two.output), second);

    device_.fill(packed.get(), 0xCD, packedBytes);
    EXPECT_NE(result(rest, alone, firstInput), first) << "without what has to be packed";
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Packing, testing::Values("emulated", "emulated:sm_90a"),
                         [](const auto& info) { return info.param.size() > 8 ? "sm_90a" : "sm_100a"; });

TEST(PackingPlans, AreWhatTheyWereSeparatedFrom) {
  ConvolutionCase test = parseCase("1x5x7x16 f16 * 24x3x3x16 stride 2,3 transposed -> f16 | algorithm phases | options form=apart");
  const Plan plan = planFor(test, DeviceProperties::preset("H200"));
  const std::string before = plan.describe();
  const auto [packing, rest] = plan.separatePacking();
  shiftconv_plan_t inC[2] = {};
  size_t bytes = 0;
  EXPECT_OK(shiftconv_plan_separate_packing(plan.handle(), &inC[0], &inC[1]));
  for (const shiftconv_plan_t part : inC) {
    EXPECT_OK(shiftconv_plan_packed_filter_size(part, &bytes));
    EXPECT_EQ(bytes, 2u * 24 * 9 * 16) << "phases of one and of two taps, each of whole 256 bytes";
    EXPECT_OK(shiftconv_plan_destroy(part));
  }
  EXPECT_EQ(plan.describe(), before);
  EXPECT_EQ(rest.algorithm(), "phases");
  EXPECT_EQ(packing.kernelName(), "gather_phase_filters");
  EXPECT_EQ(rest.kernelName(), plan.kernelName());
  for (const Plan* part : {&packing, &rest}) {
    EXPECT_NE(part->describe(), before);
    EXPECT_NE(part->describe().find("packed filter " + std::to_string(rest.packedFilterBytes()) + " bytes"), std::string::npos);
    EXPECT_FAILURE(shiftconv_plan_to_bytes(part->handle(), nullptr, 0, nullptr), SHIFTCONV_STATUS_UNSUPPORTED, "a part of another");
    shiftconv_plan_t first = part->handle(), second = part->handle();
    EXPECT_FAILURE(shiftconv_plan_separate_packing(part->handle(), &first, &second), SHIFTCONV_STATUS_UNSUPPORTED,
                   "separated already");
    EXPECT_EQ(first, part->handle());
    EXPECT_EQ(second, part->handle());
  }
}

TEST(PackingPlans, NameTheTensorThatIsWrong) {
  const Device device("emulated");
  const Plan plan =
      planFor(parseCase("1x5x7x16 f16 * 24x3x3x16 stride 2,2 transposed -> f16 | algorithm phases | options form=apart"), device);
  const auto [packing, rest] = plan.separatePacking();
  const auto place = [](uintptr_t address) { return reinterpret_cast<void*>(address); };
  Tensors good;
  good.input = place(0x1000000), good.filter = place(0x2000000), good.output = place(0x3000000), good.workspace = place(0x4000000);
  good.packed_filter = place(0x5000000);
  const auto refused = [&](const Plan& which, void* shiftconv_tensors_t::*field, void* address, const char* words) {
    Tensors tensors = good;
    tensors.*field = address;
    shiftconv_binding_t binding = nullptr;
    EXPECT_FAILURE(shiftconv_bind(which.handle(), device.handle(), &tensors, &binding), SHIFTCONV_STATUS_INVALID_ARGUMENT, words);
  };
  refused(plan, &shiftconv_tensors_t::packed_filter, good.packed_filter, "packed_filter must be NULL, because this plan uses none");
  for (const Plan* part : {&packing, &rest}) {
    refused(*part, &shiftconv_tensors_t::packed_filter, nullptr, "packed_filter must not be NULL");
    refused(*part, &shiftconv_tensors_t::packed_filter, place(0x5000080), "packed_filter must be aligned to 256 bytes");
    refused(*part, &shiftconv_tensors_t::packed_filter, place(0x2000000), "packed_filter must not overlap filter");
  }
  refused(rest, &shiftconv_tensors_t::workspace, nullptr, "workspace must not be NULL");
  refused(rest, &shiftconv_tensors_t::workspace, good.packed_filter, "workspace must not overlap packed_filter");
}

TEST(PackingPlans, RefuseWhatHasNothingToPack) {
  const Plan plan(Convolution::parse("1x5x7x16 f16 * 24x3x3x16 -> f16"), DeviceProperties::preset("B200"));
  shiftconv_plan_t packing = nullptr, rest = nullptr;
  EXPECT_FAILURE(shiftconv_plan_separate_packing(plan.handle(), &packing, &rest), SHIFTCONV_STATUS_UNSUPPORTED, plan.algorithm());
  EXPECT_EQ(packing, nullptr);
  EXPECT_EQ(rest, nullptr);
  EXPECT_FAILURE(shiftconv_plan_separate_packing(nullptr, &packing, &rest), SHIFTCONV_STATUS_INVALID_ARGUMENT, "plan");
  EXPECT_FAILURE(shiftconv_plan_separate_packing(plan.handle(), nullptr, &rest), SHIFTCONV_STATUS_INVALID_ARGUMENT, "packing");
  EXPECT_FAILURE(shiftconv_plan_separate_packing(plan.handle(), &packing, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "rest");
  EXPECT_FAILURE(shiftconv_plan_packed_filter_size(plan.handle(), nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "bytes");
}

}  // namespace
}  // namespace shiftconv::tests::packing_test
