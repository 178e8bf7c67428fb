#include "tests/cudnn/plain_form.hpp"

namespace shiftconv::referee {
namespace {

/// Pixels of the image, each as often as the filter sees it.
std::vector<int64_t> repeated(const Problem& p) {
  std::vector<int64_t> order;
  order.reserve(static_cast<size_t>(p.n * p.imageD() * p.imageH() * p.imageW() * p.c));
  for (int64_t n = 0; n < p.n; ++n)
    for (int64_t z = 0; z < p.imageD(); ++z)
      for (int64_t y = 0; y < p.imageH(); ++y)
        for (int64_t x = 0; x < p.imageW(); ++x) {
          const int64_t pixel = ((n * p.d + z / p.upsampleD) * p.h + y / p.upsampleH) * p.w + x / p.upsampleW;
          for (int64_t c = 0; c < p.c; ++c) order.push_back(pixel * p.c + c);
        }
  return order;
}

/// Of cuDNN's filter [outer, taps, inner] or, with channels first, [outer, inner, taps].
std::vector<int64_t> filterOrder(const Problem& p, bool channelsFirst) {
  const int64_t taps = p.t * p.r * p.s, ownC = p.groupChannels(), ownK = p.k / p.groups;
  const int64_t outer = p.transposed ? p.c : p.k, inner = p.transposed ? ownK : ownC;
  std::vector<int64_t> order(static_cast<size_t>(outer * inner * taps));
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i)
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t k = p.transposed ? o / ownC * ownK + i : o, c = p.transposed ? o % ownC : i;
        const int64_t at = channelsFirst ? (o * inner + i) * taps + tap : (o * taps + tap) * inner + i;
        order[static_cast<size_t>(at)] = (k * taps + (p.filterFlipped ? taps - 1 - tap : tap)) * ownC + c;
      }
  return order;
}

}  // namespace

PlainForm plainForm(const Problem& problem, bool channelsLast) {
  PlainForm form{problem, {}, {}};
  Problem& p = form.problem;
  if (problem.isSplit() || problem.isUpsampled() || (channelsLast && p.inputLayout == Layout::ChannelsFirst)) {
    form.input = repeated(problem);
    p.d = problem.imageD(), p.h = problem.imageH(), p.w = problem.imageW();
    p.upsampleD = p.upsampleH = p.upsampleW = 1;
    p.splitC = p.splitD = p.inputPixelPitch = p.secondPixelPitch = 0;
    p.inputLayout = Layout::ChannelsLast;
  }
  const bool channelsFirst = p.inputLayout == Layout::ChannelsFirst;
  if (p.transposed || channelsFirst || p.filterFlipped) form.filter = filterOrder(p, channelsFirst);
  p.filterFlipped = false;
  return form;
}

}  // namespace shiftconv::referee
