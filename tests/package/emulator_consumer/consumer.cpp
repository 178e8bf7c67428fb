// A C++17 program against the installed machine: load, list, launch, print, count, find a race, and read every kind of refusal.
#include <shiftconv/emulator.hpp>

#include <iostream>
#include <string>
#include <vector>

namespace {

using namespace shiftconv::emu;

constexpr const char* kModule = R"(
.version 9.0
.target sm_100a
.address_size 64
.extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 message[13] = {116, 104, 114, 101, 97, 100, 32, 122, 101, 114, 111, 10, 0};
.const .align 4 .u32 factor = 3;
.visible .entry scale(.param .u64 data, .param .u32 count)
{
  .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %d<5>;
  .param .b64 format; .param .b64 none; .param .b32 result;
  ld.param.u64 %d1, [data];
  ld.param.u32 %r1, [count];
  mov.u32 %r2, %tid.x;
  setp.ge.u32 %p1, %r2, %r1;
  @%p1 bra DONE;
  mul.wide.u32 %d2, %r2, 4;
  add.u64 %d1, %d1, %d2;
  ld.const.u32 %r3, [factor];
  ld.global.u32 %r4, [%d1];
  mul.lo.u32 %r4, %r4, %r3;
  st.global.u32 [%d1], %r4;
  setp.ne.u32 %p2, %r2, 0;
  @%p2 bra DONE;
  mov.u64 %d3, message;
  st.param.b64 [format], %d3;
  st.param.b64 [none], 0;
  call.uni (result), vprintf, (format, none);
DONE:
  ret;
}
.visible .entry race(.param .u64 data)
{
  .reg .b32 %r<3>; .reg .b64 %d<2>;
  ld.param.u64 %d1, [data];
  mov.u32 %r1, %ctaid.x;
  st.global.u32 [%d1], %r1;
  ret;
}
)";

int failures = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::cerr << "not so: " << what << '\n';
  ++failures;
}

void expectError(const Error& error, ErrorKind kind, const std::string& part) {
  expect(error.kind == kind && error.message.find(part) != std::string::npos,
         std::string(toString(kind)) + " with '" + part + "', but got " + toString(error.kind) + ": " + error.message);
}

}  // namespace

int main() {
  Machine machine;
  const Result<Module> module = machine.load(kModule, "scale.ptx");
  if (!module) {
    std::cerr << module.error().message << '\n';
    return 1;
  }
  expect(module->target().name == "sm_100a" && module->target().multiprocessors == 148, "the target is known");
  const Kernel* scale = module->find("scale");
  expect(module->kernels().size() == 2 && scale != nullptr && scale->parameters.size() == 2 && scale->parameters[1].type == "u32",
         "kernels and parameters are listed");
  expect(module->variables().size() == 2 && module->variables()[1].name == "factor" && module->variables()[1].constant,
         "variables are listed");
  uint32_t factor = 0;
  expect(!machine.copyToHost(&factor, module->variables()[1].address, sizeof factor) && factor == 3, "variables are readable");

  std::vector<uint32_t> host(100);
  for (uint32_t i = 0; i < host.size(); ++i) host[i] = i + 1;
  const uint64_t bytes = host.size() * sizeof(uint32_t);
  const Result<uint64_t> data = machine.allocate(bytes);
  expect(data && machine.allocatedBytes() >= bytes && machine.allocationBytes(*data) == bytes, "memory is allocated");
  expect(!machine.copyToDevice(*data, host.data(), bytes), "copy to the device");

  std::string printed;
  const uint32_t count = 90;
  Launch launch;
  launch.kernel = "scale";
  launch.block.x = 128;
  launch.arguments = {&*data, &count};
  launch.options.hazards = Hazards::Error;
  launch.options.print = [&](std::string_view text) { printed += text; };
  const Result<Report> report = machine.launch(*module, launch);
  expect(static_cast<bool>(report), report.error().message);
  expect(!machine.copyToHost(host.data(), *data, bytes), "copy to the host");
  for (uint32_t i = 0; i < host.size(); ++i) expect(host[i] == (i < count ? 3 * (i + 1) : i + 1), "element " + std::to_string(i));
  expect(printed == "thread zero\n", "the kernel printed: " + printed);
  expect(report && report->counters.ctas == 1 && report->counters.warpInstructions.size() == 4 &&
             report->counters.bytes.count("threads: global wr") == 1 && !report->counters.text.empty(),
         "counters");

  Launch race;
  race.kernel = "race";
  race.grid.x = 4;
  race.arguments = {&*data};
  race.options.hazards = Hazards::Warn;
  const Result<Report> raced = machine.launch(*module, race);
  expect(raced && raced->hazards.size() == 1 && raced->hazards[0].kind == "race" && raced->hazards[0].second.ptxLine != 0,
         "the race is found");

  // Refusals are sentences.
  expectError(machine.load("nonsense", "bad.ptx").error(), ErrorKind::Parse, "bad.ptx:1:1");
  expectError(machine.load(".version 9.0\n.target sm_120a\n.address_size 64\n", "other.ptx").error(), ErrorKind::Unsupported,
              "sm_120a");
  expectError(machine
                  .load(".version 9.0\n.target sm_90a\n.address_size 64\n.entry k() { tcgen05.fence::before_thread_sync; ret; }\n",
                        "old.ptx")
                  .error(),
              ErrorKind::IllegalInstruction, "tcgen05 does not exist on sm_90a");
  launch.options.semantics = {{"U999", 0}};
  expectError(machine.launch(*module, launch).error(), ErrorKind::Argument, "U999");
  launch.options.semantics = {{questions().front().id, 99}};
  expectError(machine.launch(*module, launch).error(), ErrorKind::Argument, "not 99");
  launch.options.semantics = {};
  launch.arguments.pop_back();
  expectError(machine.launch(*module, launch).error(), ErrorKind::Launch, "2 parameters, 1 arguments");
  launch.kernel = "missing";
  expectError(machine.launch(*module, launch).error(), ErrorKind::Launch, "has no kernel missing");
  expectError(machine.copyToHost(host.data(), *data, bytes + 1), ErrorKind::OutOfBounds, "runs past its end");
  expectError(machine.release(*data + 4), ErrorKind::OutOfBounds, "not the start");
  TensorMap map;
  expectError(encode(map).error(), ErrorKind::Argument, "tensorRank");
  map.dataType = 99;
  expectError(encode(map).error(), ErrorKind::Argument, "data type 99");
  expect(!machine.release(*data) && targets().size() > 3, "the end");
  if (failures == 0) std::cout << report->counters.text;
  return failures == 0 ? 0 : 1;
}
