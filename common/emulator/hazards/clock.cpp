#include "common/emulator/hazards/clock.hpp"

#include <algorithm>

namespace shiftconv::emulator::hazards {
namespace {

void joinInto(std::vector<uint32_t>& mine, const std::vector<uint32_t>& other) {
  if (mine.size() < other.size()) mine.resize(other.size());
  for (size_t i = 0; i < other.size(); ++i) mine[i] = std::max(mine[i], other[i]);
}

void meetInto(std::vector<uint32_t>& mine, const std::vector<uint32_t>& other) {
  mine.resize(std::min(mine.size(), other.size()));
  for (size_t i = 0; i < mine.size(); ++i) mine[i] = std::min(mine[i], other[i]);
}

}  // namespace

void Clock::join(const Clock& other) {
  joinInto(generic, other.generic);
  joinInto(proxied, other.proxied);
  joinInto(tensor, other.tensor);
  joinInto(barrier, other.barrier);
}

void Clock::meet(const Clock& other) {
  meetInto(generic, other.generic);
  meetInto(proxied, other.proxied);
  meetInto(tensor, other.tensor);
  meetInto(barrier, other.barrier);
}

void raise(std::vector<uint32_t>& values, size_t index, uint32_t value) {
  if (values.size() <= index) values.resize(index + 1);
  values[index] = std::max(values[index], value);
}

ClockPointer ClockJoiner::operator()(const ClockPointer& a, const ClockPointer& b) {
  if (a == b) return a;
  if (a_ == a && b_ == b) return result_;
  auto joined = std::make_shared<Clock>(*a);
  joined->join(*b);
  a_ = a;
  b_ = b;
  return result_ = std::move(joined);
}

}  // namespace shiftconv::emulator::hazards
