// Writes SVG: shapes at pixel coordinates, one a line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone::plot {

struct Point {
  double x = 0, y = 0;
};

enum class Anchor { kStart, kMiddle, kEnd };

struct TextStyle {
  double size = 12;
  std::string_view color = "#333333";
  Anchor anchor = Anchor::kStart;
  bool bold = false;
  bool halo = false;  ///< a white rim, for texts on top of shapes
};

/// About how wide a text is in the sans-serif fonts of browsers, in pixels; a little more rather than less.
double text_width(std::string_view text, double size, bool bold = false);
/// `text`, or as much of its beginning as is not wider than `width`, with an ellipsis.
std::string fit(std::string_view text, double size, double width, bool bold = false);

class Svg {
 public:
  Svg(double width, double height) : width_(width), height_(height) {}

  /// Fills of "" are none; coordinates that are not finite are a bug of the caller.
  void rect(double x, double y, double width, double height, std::string_view fill, std::string_view stroke = "");
  void line(Point a, Point b, std::string_view color, double width = 1, std::string_view dashes = "");
  void polyline(const std::vector<Point>& points, std::string_view color, double width);
  /// Many dots of one kind, as one element; `hollow` ones are rings.
  void dots(const std::vector<Point>& centers, double radius, std::string_view color, double opacity,
            bool hollow = false);
  /// Many upright ticks of one kind.
  void ticks(const std::vector<Point>& centers, double height, std::string_view color, double width, double opacity);
  /// A diamond with a white rim.
  void diamond(Point center, double radius, std::string_view color);
  void text(Point at, std::string_view text, const TextStyle& style = {});
  /// On dark pages everything of color `light` has this one (by a style sheet: viewers without style sheets show the
  /// light one).
  void in_the_dark(std::string_view light, std::string_view dark);
  /// Text that a browser shows when the pointer rests on the drawing.
  void tooltip(std::string_view text);

  std::string str() const;

 private:
  double width_, height_;
  std::string body_, dark_;
};

}  // namespace hone::plot
