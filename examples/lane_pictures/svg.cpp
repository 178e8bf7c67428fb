#include "examples/lane_pictures/svg.hpp"

#include <fmt/format.h>

namespace lane_pictures {
namespace {

constexpr std::string_view kHead =  // both markers have the colours of their arrows
    R"svg(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" font-family="Helvetica, Arial, sans-serif">
<title>{2}</title>
<defs>
<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="2" height="6" fill="#6b7683"/></pattern>
<marker id="moves" viewBox="0 0 6 6" refX="5" refY="3" markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0L6 3L0 6z" fill="#9aa5b1"/></marker>
<marker id="enters" viewBox="0 0 6 6" refX="5" refY="3" markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0L6 3L0 6z" fill="#d9480f"/></marker>
</defs>
<rect width="{0}" height="{1}" fill="#fff"/>
)svg";

std::string escaped(std::string_view content) {
  std::string text;
  for (const char c : content) {
    if (c == '<')
      text += "&lt;";
    else if (c == '>')
      text += "&gt;";
    else if (c == '&')
      text += "&amp;";
    else
      text += c;
  }
  return text;
}

}  // namespace

Svg::Svg(int width, int height, std::string_view title) : body_(fmt::format(fmt::runtime(kHead), width, height, escaped(title))) {}

void Svg::rectangle(const Box& box, std::string_view fill, std::string_view stroke, int strokeWidth) {
  body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"", box.x, box.y, box.width, box.height, fill);
  if (stroke != "none") body_ += fmt::format(" stroke=\"{}\" stroke-width=\"{}\"", stroke, strokeWidth);
  body_ += "/>\n";
}

void Svg::hatch(const Box& box) { rectangle(box, "url(#hatch)"); }

void Svg::arrow(int x0, int y0, int x1, int y1, Arrow kind) {
  body_ += fmt::format("<path d=\"M{} {}L{} {}\" stroke=\"{}\" marker-end=\"url(#{})\"/>\n", x0, y0, x1, y1,
                       kind == Arrow::Moves ? "#9aa5b1" : kOrange, kind == Arrow::Moves ? "moves" : "enters");
}

void Svg::text(int x, int y, int size, std::string_view content, const TextStyle& style) {
  body_ += fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"{}{}{}>{}</text>\n", x, y, size, style.colour,
                       style.isCentred ? " text-anchor=\"middle\"" : "", style.isBold ? " font-weight=\"bold\"" : "",
                       style.hasHalo ? " stroke=\"#fff\" stroke-width=\"4\" paint-order=\"stroke\"" : "", escaped(content));
}

void Svg::label(const Box& box, int size, std::string_view content, TextStyle style) {
  style.isCentred = true;
  text(box.centre(), box.y + (box.height + size * 7 / 10) / 2, size, content, style);
}

std::string Svg::document() const { return body_ + "</svg>\n"; }

}  // namespace lane_pictures
