#include <fmt/format.h>

#include <algorithm>

#include "bench/traffic/report.hpp"

namespace shiftconv::bench {
namespace {

constexpr double kLabel = 250, kWidth = 760, kBar = 9, kGap = 12, kMost = 1.5;  // pixels; the ratio at the right edge
constexpr const char* kColours[] = {"#2a6fbb", "#3aa6a6", "#d9822b", "#7a9e3f", "#b04a6a", "#8a5fa8"};

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return result;
}

/// One bar: as long as the ratio, cut at the right edge.
std::string bar(double y, double ratio, const char* colour, double opacity, const std::string& text) {
  const double length = std::min(ratio, kMost) / kMost * (kWidth - kLabel - 60);
  return fmt::format(
      "<rect x=\"{}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\" fill-opacity=\"{}\"/>\n"
      "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"9\">{}</text>\n",
      kLabel, y, length, kBar - 1, colour, opacity, kLabel + length + 4, y + kBar - 2, text);
}

}  // namespace

std::string plot(const std::vector<FileReport>& reports) {
  std::string body;
  double y = 70;
  for (const FileReport& report : reports) {
    for (const LayerReport& layer : report.layers) {
      const Entry* base = layer.find("im2col");
      if (base == nullptr) continue;
      body += fmt::format("<text x=\"8\" y=\"{:.1f}\" font-size=\"11\">{}</text>\n", y + kBar, escaped(layer.layer.name));
      size_t colour = 0;
      for (const Entry& entry : layer.entries) {
        const char* const fill = kColours[colour++ % std::size(kColours)];
        if (!entry.refusal.empty() || &entry == base) continue;
        const plan::Traffic &a = entry.projection.counted, &b = base->projection.counted;
        const double shared = static_cast<double>(a.sharedReadBytes()) / static_cast<double>(b.sharedReadBytes());
        const double activations = static_cast<double>(a.activationBytes) / static_cast<double>(b.activationBytes);
        body += bar(y, shared, fill, 1, fmt::format("{} {:.2f}", entry.algorithm, shared));
        y += kBar;
        body += bar(y, activations, fill, 0.5, fmt::format("{:.2f} activations", activations));
        y += kBar;
      }
      y += kGap;
    }
  }
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1:.0f}\" font-family=\"sans-serif\">\n"
             "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
             "<text x=\"8\" y=\"22\" font-size=\"14\">Bytes moved, over those of im2col at the same cta_group and tile "
             "width</text>\n"
             "<text x=\"8\" y=\"40\" font-size=\"11\">dark: shared memory read by MMAs and copies; light: activations from L2. "
             "Counted in the emulator.</text>\n"
             "<line x1=\"{2:.1f}\" y1=\"56\" x2=\"{2:.1f}\" y2=\"{1:.0f}\" stroke=\"#999\" stroke-dasharray=\"3 3\"/>\n"
             "<text x=\"{2:.1f}\" y=\"54\" font-size=\"9\" text-anchor=\"middle\">im2col</text>\n",
             kWidth, y + 8, kLabel + (kWidth - kLabel - 60) / kMost) +
         body + "</svg>\n";
}

}  // namespace shiftconv::bench
