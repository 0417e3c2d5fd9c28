#include "tuner/plot/svg.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

namespace hone::plot {
namespace {

// A tenth of a pixel is finer than visible.
std::string number(double x) {
  std::string text = fmt::format("{:.1f}", x);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default:
        // Control characters are not allowed in XML.
        if (static_cast<unsigned char>(c) >= 0x20) out += c;
    }
  return out;
}

std::string fill_of(std::string_view color) { return color.empty() ? "none" : std::string(color); }

}  // namespace

double text_width(std::string_view text, double size, bool bold) {
  double ems = 0;
  for (const char c : text) {
    if ((c & 0xC0) == 0x80) continue;  // the rest of a UTF-8 character
    if (std::string_view(".,:;|!'()[]ijlft I").find(c) != std::string_view::npos)
      ems += 0.40;
    else if (std::string_view("mwMW%@").find(c) != std::string_view::npos)
      ems += 0.98;
    else if (std::string_view("=+<>~").find(c) != std::string_view::npos)
      ems += 0.84;
    else
      ems += c >= 'A' && c <= 'Z' ? 0.72 : 0.63;
  }
  return ems * size * (bold ? 1.15 : 1);
}

std::string fit(std::string_view text, double size, double width, bool bold) {
  if (text_width(text, size, bold) <= width) return std::string(text);
  const std::string_view dots = "…";
  while (!text.empty() && text_width(text, size, bold) + 1.1 * size > width) {
    while (text.size() > 1 && (text.back() & 0xC0) == 0x80) text.remove_suffix(1);
    text.remove_suffix(1);
  }
  return std::string(text) + std::string(dots);
}

void Svg::rect(double x, double y, double width, double height, std::string_view fill, std::string_view stroke) {
  body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" stroke=\"{}\"/>\n", number(x),
                       number(y), number(width), number(height), fill_of(fill), fill_of(stroke));
}

void Svg::line(Point a, Point b, std::string_view color, double width, std::string_view dashes) {
  body_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\" stroke-width=\"{}\"{}/>\n",
                       number(a.x), number(a.y), number(b.x), number(b.y), color, number(width),
                       dashes.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", dashes));
}

void Svg::polyline(const std::vector<Point>& points, std::string_view color, double width) {
  if (points.size() < 2) return;
  const std::string at = absl::StrJoin(
      points, " ", [](std::string* out, const Point& p) { *out += fmt::format("{},{}", number(p.x), number(p.y)); });
  body_ += fmt::format(
      "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"/>\n", at,
      color, number(width));
}

void Svg::dots(const std::vector<Point>& centers, double radius, std::string_view color, double opacity, bool hollow) {
  if (centers.empty()) return;
  body_ += hollow
               ? fmt::format("<g fill=\"none\" stroke=\"{}\" stroke-width=\"1\" opacity=\"{:.2f}\">\n", color, opacity)
               : fmt::format("<g fill=\"{}\" opacity=\"{:.2f}\">\n", color, opacity);
  for (const Point& p : centers)
    body_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"/>\n", number(p.x), number(p.y), number(radius));
  body_ += "</g>\n";
}

void Svg::ticks(const std::vector<Point>& centers, double height, std::string_view color, double width,
                double opacity) {
  if (centers.empty()) return;
  std::string at;
  for (const Point& p : centers) at += fmt::format("M{} {}v{}", number(p.x), number(p.y - height / 2), number(height));
  body_ += fmt::format("<path d=\"{}\" stroke=\"{}\" stroke-width=\"{}\" opacity=\"{:.2f}\"/>\n", at, color,
                       number(width), opacity);
}

void Svg::diamond(Point c, double r, std::string_view color) {
  body_ += fmt::format("<path d=\"M{} {}l{} {}l{} {}l{} {}z\" fill=\"{}\" stroke=\"#ffffff\" stroke-width=\"1.5\"/>\n",
                       number(c.x), number(c.y - r), number(r), number(r), number(-r), number(r), number(-r),
                       number(-r), color);
}

void Svg::text(Point at, std::string_view text, const TextStyle& style) {
  constexpr std::string_view kAnchors[] = {"start", "middle", "end"};
  body_ +=
      fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\" text-anchor=\"{}\"{}{}>{}</text>\n",
                  number(at.x), number(at.y), number(style.size), style.color,
                  kAnchors[static_cast<size_t>(style.anchor)], style.bold ? " font-weight=\"bold\"" : "",
                  style.halo ? " stroke=\"#ffffff\" stroke-width=\"3\" paint-order=\"stroke\"" : "", escaped(text));
}

void Svg::tooltip(std::string_view text) { body_ += fmt::format("<title>{}</title>\n", escaped(text)); }

void Svg::in_the_dark(std::string_view light, std::string_view dark) {
  dark_ += fmt::format("[fill=\"{0}\"]{{fill:{1}}}[stroke=\"{0}\"]{{stroke:{1}}}\n", light, dark);
}

std::string Svg::str() const {
  const std::string style =
      dark_.empty() ? "" : fmt::format("<style>@media (prefers-color-scheme: dark) {{\n{}}}</style>\n", dark_);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n{2}{3}</svg>\n",
      number(width_), number(height_), style, body_);
}

}  // namespace hone::plot
