#include "conv/planner/plan_bytes.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "conv/plan/device_limits.hpp"
#include "conv/planner/candidates.hpp"
#include "conv/planner/checksum.hpp"
#include "conv/planner/registry.hpp"
#include "conv/problem/quoted.hpp"
#include "conv/problem/text.hpp"

namespace shiftconv::plan {
namespace {

constexpr std::string_view kFirstLine = "ShiftConv plan\n";
constexpr size_t kChecksumBytes = 8;

Status invalidBytes(std::string message) { return {StatusCode::InvalidArgument, std::move(message)}; }

class Writer {
 public:
  explicit Writer(std::string& bytes) : bytes_(bytes) {}
  void number(uint64_t value, size_t width = 8) {
    for (size_t i = 0; i < width; ++i) bytes_ += static_cast<char>(value >> (8 * i));
  }
  void real(double value) { number(std::bit_cast<uint64_t>(value)); }
  void text(std::string_view value) {
    number(value.size(), 4);
    bytes_ += value;
  }

 private:
  std::string& bytes_;
};

/// Values after the end are 0 and empty, and make it fail.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  uint64_t number(size_t width = 8) {
    uint64_t value = 0;
    const std::string_view bytes = take(width);
    for (size_t i = 0; i < bytes.size(); ++i) value |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    return value;
  }
  double real() { return std::bit_cast<double>(number()); }
  std::string_view text() { return take(number(4)); }
  bool failed() const { return failed_; }
  /// Everything has been read, and nothing more than that.
  bool complete() const { return !failed_ && bytes_.empty(); }

 private:
  std::string_view take(size_t length) {
    if (length > bytes_.size()) failed_ = true;
    if (failed_) return {};
    const std::string_view taken = bytes_.substr(0, length);
    bytes_.remove_prefix(length);
    return taken;
  }

  std::string_view bytes_;
  bool failed_ = false;
};

struct Stored {
  std::string_view problem, algorithm, options, choice;
  device::Properties properties;
  Estimate estimate;
  uint64_t bound = 0, description = 0;
};

void read(Reader& reader, Stored& stored) {
  stored.problem = reader.text();
  device::Properties& device = stored.properties;
  device.kind = reader.number() == 0 ? device::Kind::Cuda : device::Kind::Emulated;
  device.name = reader.text();
  device.computeMajor = static_cast<int>(reader.number());
  device.computeMinor = static_cast<int>(reader.number());
  device.multiprocessors = static_cast<uint32_t>(reader.number());
  device.sharedBytesPerBlock = static_cast<uint32_t>(reader.number());
  device.l2Bytes = reader.number();
  device.globalBytes = reader.number();
  stored.algorithm = reader.text();
  stored.options = reader.text();
  stored.estimate.clocks = reader.real();
  stored.estimate.seconds = reader.real();
  stored.estimate.flops = reader.real();
  stored.estimate.bytes = reader.real();
  stored.bound = reader.number();
  stored.choice = reader.text();
  stored.description = reader.number();
}

/// Planned again, as it was.
Status restore(const Stored& stored, std::shared_ptr<const Plan>& plan) {
  const auto about = [](const Status& status) -> Status {
    return {status.code(), "the plan's bytes hold what this library refuses: " + status.message()};
  };
  Problem problem;
  if (Status status = parse(stored.problem, problem); !status.ok()) return about(status);
  if (Status status = validate(stored.properties); !status.ok()) return about(status);
  const Algorithm* algorithm = nullptr;
  if (Status status = findAlgorithm(stored.algorithm, algorithm); !status.ok()) return about(status);
  if (std::string refusal = refusalOf(*algorithm, problem, stored.properties); !refusal.empty())
    return about({StatusCode::Unsupported, std::move(refusal)});
  Candidate candidate;
  if (Status status = candidateOf(*algorithm, problem, stored.properties, stored.options, candidate); !status.ok())
    return about(status);
  candidate.estimate = stored.estimate;
  if (stored.bound >= kResources) return about({StatusCode::InvalidArgument, fmt::format("resource {}", stored.bound)});
  candidate.estimate.bound = static_cast<Resource>(stored.bound);
  std::shared_ptr<const Plan> made;
  if (Status status = makePlan(problem, stored.properties, candidate, std::string(stored.choice), made); !status.ok())
    return about(status);
  if (checksum(describe(*made)) != stored.description)
    return invalidBytes("the plan's bytes are of a build of this version that plans differently; make the plan again");
  plan = std::move(made);
  return {};
}

}  // namespace

std::string bytesOf(const Plan& plan, std::string_view version) {
  std::string bytes(kFirstLine);
  Writer writer(bytes);
  writer.text(version);
  writer.text(describe(plan.problem));
  const device::Properties& device = plan.properties;
  writer.number(device.kind == device::Kind::Cuda ? 0 : 1);
  writer.text(device.name);
  writer.number(static_cast<uint64_t>(device.computeMajor));
  writer.number(static_cast<uint64_t>(device.computeMinor));
  writer.number(device.multiprocessors);
  writer.number(device.sharedBytesPerBlock);
  writer.number(device.l2Bytes);
  writer.number(device.globalBytes);
  writer.text(plan.algorithm);
  writer.text(plan.options);
  writer.real(plan.estimate.clocks);
  writer.real(plan.estimate.seconds);
  writer.real(plan.estimate.flops);
  writer.real(plan.estimate.bytes);
  writer.number(static_cast<uint64_t>(plan.estimate.bound));
  writer.text(choiceOf(plan));
  writer.number(checksum(describe(plan)));
  writer.number(checksum(bytes), kChecksumBytes);
  return bytes;
}

Status planOf(std::string_view bytes, std::string_view version, std::shared_ptr<const Plan>& plan) {
  if (!bytes.starts_with(kFirstLine.substr(0, bytes.size())) || bytes.empty())
    return invalidBytes(fmt::format("{} bytes do not begin as a plan's do", bytes.size()));
  if (bytes.size() < kFirstLine.size() + kChecksumBytes)
    return invalidBytes(fmt::format("the plan's bytes end after {}, within their beginning", bytes.size()));
  const std::string_view content = bytes.substr(0, bytes.size() - kChecksumBytes);
  if (Reader(bytes.substr(content.size())).number() != checksum(content))
    return invalidBytes(fmt::format("the plan's {} bytes are damaged or incomplete: their checksum is wrong", bytes.size()));
  Reader reader(content.substr(kFirstLine.size()));
  const std::string_view madeBy = reader.text();
  if (!reader.failed() && madeBy != version)
    return invalidBytes(
        fmt::format("the plan's bytes are of ShiftConv {}, but this is {}; make the plan again", quoted(madeBy), version));
  Stored stored;
  read(reader, stored);
  if (!reader.complete())
    return invalidBytes(fmt::format("the plan's bytes are damaged: their fields {}",
                                    reader.failed() ? "reach beyond their end" : "end before they do"));
  return restore(stored, plan);
}

}  // namespace shiftconv::plan
