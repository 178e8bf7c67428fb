#include "tests/hazards/mutation/executed_lines.hpp"

#include <memory>
#include <mutex>

#include "common/emulator/machine/quiet_observer.hpp"
#include "common/emulator/program/program.hpp"
#include "common/emulator/ptx/module.hpp"

namespace shiftconv::tests {
namespace {

using namespace emulator::machine;

/// What the clusters of a run have executed, which may be on several host threads.
struct Sum {
  std::mutex mutex;
  ExecutedLines lines;
};

class LineObserver final : public QuietObserver {
 public:
  explicit LineObserver(std::shared_ptr<Sum> sum) : sum_(std::move(sum)) { following = true; }
  ~LineObserver() override {
    const std::lock_guard lock(sum_->mutex);
    sum_->lines.add(own_);
  }
  void executing(const Warp&, LaneMask, LaneMask, const std::byte*, const emulator::program::CompiledFunction& function,
                 uint32_t pc) override {
    own_.add(function.source->body[pc].location.ptxLine);
  }

 private:
  std::shared_ptr<Sum> sum_;
  ExecutedLines own_;
};

}  // namespace

void ExecutedLines::add(const ExecutedLines& others) {
  for (uint32_t line = 0; line < others.lines_.size(); ++line)
    if (others.lines_[line]) add(line);
}

ExecutedLines executedLines(LoadedSubject& subject, size_t trial, emulator::Options options) {
  const auto sum = std::make_shared<Sum>();
  options.hazards = emulator::HazardMode::Off;
  subject.watch([sum](Cluster&, uint64_t) { return std::make_unique<LineObserver>(sum); });
  subject.run(trial, options);
  subject.watch({});
  return sum->lines;
}

}  // namespace shiftconv::tests
