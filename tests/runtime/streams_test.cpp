// The order of work as streams, events and the host's waits make it.
#include <gtest/gtest.h>

#include "common/emulator/cuda_runtime/core/graph.hpp"
#include "common/emulator/cuda_runtime/core/streams.hpp"

namespace shiftconv::tests {
namespace {

using runtime::Event;
using runtime::Place;
using runtime::Stream;
using runtime::StreamTable;

class StreamOrder : public testing::Test {
 protected:
  static bool isBefore(const Place& earlier, const Place& later) {
    if (earlier.stream == later.stream) return earlier.number < later.number;
    const auto found = later.finished.find(earlier.stream);
    return found != later.finished.end() && earlier.number <= found->second;
  }
  StreamTable& streams = StreamTable::instance();
  Stream& legacy = streams.find(nullptr);
  Stream& a = streams.create(cudaStreamNonBlocking, 0);
  Stream& b = streams.create(cudaStreamNonBlocking, 0);
  Stream& blocking = streams.create(cudaStreamDefault, 0);
  ~StreamOrder() override {
    for (Stream* stream : {&a, &b, &blocking}) streams.destroy(*stream);
  }
};

TEST_F(StreamOrder, WorkOfOneStreamIsOrderedAndOthersAreNot) {
  const Place first = streams.enqueue(a), second = streams.enqueue(a), other = streams.enqueue(b);
  EXPECT_TRUE(isBefore(first, second));
  EXPECT_FALSE(isBefore(first, other));
  EXPECT_FALSE(isBefore(other, second));
}

TEST_F(StreamOrder, EventsOrderWhatIsBeforeThemOnlyAndAreTransitive) {
  Event &event = streams.createEvent(0), &next = streams.createEvent(0);
  const Place before = streams.enqueue(a);
  runtime::recordEvent(event, a);
  const Place behind = streams.enqueue(a);
  runtime::waitForEvent(b, event);
  const Place waiter = streams.enqueue(b);
  EXPECT_TRUE(isBefore(before, waiter));
  EXPECT_FALSE(isBefore(behind, waiter));
  runtime::recordEvent(next, b);
  runtime::waitForEvent(blocking, next);
  EXPECT_TRUE(isBefore(before, streams.enqueue(blocking)));
  streams.destroyEvent(event);
  streams.destroyEvent(next);
}

TEST_F(StreamOrder, TheLegacyStreamOrdersBlockingStreamsOnly) {
  const Place inBlocking = streams.enqueue(blocking), inA = streams.enqueue(a);
  const Place inLegacy = streams.enqueue(legacy);
  EXPECT_TRUE(isBefore(inBlocking, inLegacy));
  EXPECT_FALSE(isBefore(inA, inLegacy));
  EXPECT_TRUE(isBefore(inLegacy, streams.enqueue(blocking)));
  EXPECT_FALSE(isBefore(inLegacy, streams.enqueue(b)));
}

TEST_F(StreamOrder, WhatTheHostHasWaitedForIsBeforeAllThatItEnqueuesLater) {
  const Place first = streams.enqueue(a);
  const Place early = streams.enqueue(b);
  streams.hostWaits(a);
  const Place late = streams.enqueue(b);
  EXPECT_FALSE(isBefore(first, early));
  EXPECT_TRUE(isBefore(first, late));
  EXPECT_FALSE(isBefore(late, streams.enqueue(a)));
}

TEST_F(StreamOrder, ADependentKernelOverlapsTheKernelsBehindTheLastWorkThatWaited) {
  const auto overlapped = [&](StreamWork work) { return streams.enqueue(a, work).overlapping; };
  streams.enqueue(a);
  EXPECT_EQ(overlapped(StreamWork::DependentKernel), 0u) << "nothing but a copy is before it";
  EXPECT_EQ(overlapped(StreamWork::DependentKernel), 2u);
  EXPECT_EQ(overlapped(StreamWork::Kernel), 0u);
  EXPECT_EQ(overlapped(StreamWork::DependentKernel), 4u);
  EXPECT_EQ(overlapped(StreamWork::DependentKernel), 4u);
  EXPECT_EQ(overlapped(StreamWork::Other), 0u);
  EXPECT_EQ(overlapped(StreamWork::DependentKernel), 0u);
  Event& event = streams.createEvent(0);
  runtime::recordEvent(event, a);
  EXPECT_EQ(overlapped(StreamWork::DependentKernel), 0u) << "behind an event";
  EXPECT_EQ(overlapped(StreamWork::DependentKernel), 9u);
  streams.hostWaits(event);
  EXPECT_EQ(overlapped(StreamWork::DependentKernel), 9u) << "the host has waited for older work";
  streams.hostWaits(a);
  EXPECT_EQ(overlapped(StreamWork::DependentKernel), 0u);
  runtime::waitForEvent(a, event);
  EXPECT_EQ(overlapped(StreamWork::DependentKernel), 0u);
  streams.destroyEvent(event);
}

TEST(OverlappingKernels, BeginBehindWhatHasFinished) {
  OverlappingKernels kernels;
  kernels.enqueue(1, StreamWork::Kernel);
  kernels.enqueue(2, StreamWork::DependentKernel);
  kernels.finished(1);
  EXPECT_EQ(kernels.enqueue(3, StreamWork::DependentKernel), 2u);
  kernels.finished(3);
  EXPECT_EQ(kernels.enqueue(4, StreamWork::DependentKernel), 0u);
}

}  // namespace
}  // namespace shiftconv::tests
