#include "tests/support/form_run.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include "common/emulator/instruction_set.hpp"
#include "common/emulator/isa/form.hpp"
#include "common/emulator/ptx/module.hpp"

namespace shiftconv::tests {

using namespace emulator;

namespace {

constexpr std::string_view kHeader = ".version 9.0\n.target sm_100a\n.address_size 64\n";

/// What `%d` holds in lanes that the body does not write.
constexpr std::string_view kPrologue = R"(.visible .entry lanes(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd)
{
  .reg .b64 %a, %b, %c, %d, %run<5>;
  .reg .b32 %a32, %b32, %c32, %d32, %lane;
  mov.u32 %lane, %tid.x;
  mul.wide.u32 %run0, %lane, 8;
  ld.param.u64 %run1, [pa];
  ld.param.u64 %run2, [pb];
  ld.param.u64 %run3, [pc];
  ld.param.u64 %run4, [pd];
  add.u64 %run1, %run1, %run0;
  add.u64 %run2, %run2, %run0;
  add.u64 %run3, %run3, %run0;
  add.u64 %run4, %run4, %run0;
  ld.global.b64 %a, [%run1];
  ld.global.b64 %b, [%run2];
  ld.global.b64 %c, [%run3];
  mov.b64 {%a32, _}, %a;
  mov.b64 {%b32, _}, %b;
  mov.b64 {%c32, _}, %c;
  mov.b64 %d, 0xdeadbeefcafef00d;
  mov.b32 %d32, 0xcafef00d;
)";
constexpr std::string_view kEpilogue = "\n  st.global.b64 [%run4], %d;\n  ret;\n}\n";

uint32_t lineOf(std::string_view text) { return static_cast<uint32_t>(std::count(text.begin(), text.end(), '\n')); }

/// Host memory that kernels may reach for the time of a launch.
class Reachable {
 public:
  Reachable(machine::GlobalMemory& memory, const void* base, uint64_t bytes, bool writable) : memory_(memory), base_(base) {
    memory_.registerRange(base, bytes, writable);
  }
  ~Reachable() { memory_.unregisterRange(base_); }
  Reachable(const Reachable&) = delete;
  Reachable& operator=(const Reachable&) = delete;

 private:
  machine::GlobalMemory& memory_;
  const void* base_;
};

}  // namespace

struct FormRun::Impl {
  std::string form;
  uint64_t seed = 0;
  std::mt19937_64 random;
  std::unique_ptr<Emulator> machine;
  unsigned sightings = 0;  ///< instructions of the form in modules that ran or were expected to fail

  void search(std::string_view text, uint32_t firstLine, uint32_t lastLine) {
    const ptx::Module module = ptx::parseModule(text, form);
    for (const ptx::Function& function : module.functions)
      for (const ptx::Instruction& instruction : function.body) {
        if (instruction.location.ptxLine < firstLine || instruction.location.ptxLine > lastLine) continue;
        isa::FormMatch match;
        const isa::Form* found = emulator::instructionSet().find(instruction, match);
        if (found != nullptr && found->syntax == form) ++sightings;
      }
  }
};

FormRun::FormRun(std::string_view form) : impl_(std::make_unique<Impl>()) {
  impl_->form = form;
  impl_->seed = 0xcbf29ce484222325ull;
  for (const char c : form) impl_->seed = (impl_->seed ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  impl_->random.seed(impl_->seed);
  impl_->machine = std::make_unique<Emulator>();
}

FormRun::~FormRun() {
  EXPECT_GT(impl_->sightings, 0u) << "no module of this case contains the form " << impl_->form;
  if (testing::Test::HasFailure()) fmt::print(stderr, "random operands came from seed 0x{:x}\n", impl_->seed);
}

Lanes FormRun::lanes(std::string_view body, const Lanes& a, const Lanes& b, const Lanes& c) {
  const std::string text = fmt::format("{}{}{}{}", kHeader, kPrologue, body, kEpilogue);
  const uint32_t first = lineOf(kHeader) + lineOf(kPrologue) + 1;
  impl_->search(text, first, first + lineOf(body));
  Lanes d{};
  machine::GlobalMemory& memory = impl_->machine->memory();
  const Reachable reachable[] = {{memory, a.data(), sizeof a, false},
                                 {memory, b.data(), sizeof b, false},
                                 {memory, c.data(), sizeof c, false},
                                 {memory, d.data(), sizeof d, true}};
  const void* const pointers[] = {a.data(), b.data(), c.data(), d.data()};
  const void* const arguments[] = {&pointers[0], &pointers[1], &pointers[2], &pointers[3]};
  machine::LaunchConfig config;
  config.block.x = machine::kWarpLanes;
  Options options;
  options.hostThreads = 1;
  const auto module = impl_->machine->load(text, impl_->form);
  impl_->machine->launch(*module, "lanes", config, arguments, options);
  return d;
}

LaunchReport FormRun::module(std::string_view ptx, std::string_view kernel, const machine::LaunchConfig& config,
                             std::span<const void* const> arguments, const Options& options) {
  std::string text(ptx);
  if (text.find(".version") == std::string::npos) text.insert(0, kHeader);
  impl_->search(text, 0, ~0u);
  const auto module = impl_->machine->load(text, impl_->form);
  return impl_->machine->launch(*module, kernel, config, arguments, options);
}

void FormRun::see(std::string_view ptx) { impl_->search(ptx, 0, ~0u); }

Emulator& FormRun::emulator() { return *impl_->machine; }

std::string FormRun::error(const std::function<void()>& action) {
  try {
    action();
  } catch (const EmulatorError& error) {
    return error.what();
  }
  ADD_FAILURE() << "an error was expected from form " << impl_->form;
  return {};
}

uint64_t FormRun::random() { return impl_->random(); }

Lanes FormRun::randomLanes() {
  Lanes result;
  for (uint64_t& lane : result) lane = impl_->random();
  return result;
}

}  // namespace shiftconv::tests
