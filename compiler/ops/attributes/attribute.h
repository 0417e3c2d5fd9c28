// Attributes of operators: named values, each read from its text once.
#pragma once

#include <any>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"

namespace hone {

/// The attributes of one workload, in the order of its operator's. The texts are canonical: databases keep them.
class Attributes {
 public:
  struct Item {
    std::string name, text;
    std::any value;  ///< the parsed value; its type is the attribute's
  };

  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// InternalError where there is no such attribute; get() also where its value is of another type.
  const std::string& text(std::string_view name) const { return item(name).text; }
  template <class T>
  const T& get(std::string_view name) const {
    const T* value = std::any_cast<T>(&item(name).value);
    HONE_ICHECK(value) << "attribute " << name << " is of another type";
    return *value;
  }
  int64_t number(std::string_view name) const { return get<int64_t>(name); }

  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  void add(Item item) { items_.push_back(std::move(item)); }

  /// Equal names and texts.
  friend bool operator==(const Attributes& a, const Attributes& b);

 private:
  const Item* find(std::string_view name) const;
  const Item& item(std::string_view name) const;
  std::vector<Item> items_;
};

/// A parser's context beside the text: names for errors, and the attributes before this one.
struct AttributeContext {
  std::string_view op, name;
  const Attributes& before;
};
struct ParsedAttribute {
  std::string text;  ///< canonical
  std::any value;
};
/// UserError, one line, for an invalid text. A canonical text gives itself.
using AttributeParser = std::function<ParsedAttribute(std::string_view text, const AttributeContext& context)>;

/// One attribute of an operator.
struct Attribute {
  std::string name;
  std::string fallback;  ///< taken where the attribute is not given
  AttributeParser parse;
  /// Printed only where it is not the fallback: for attributes added after the operator's first keys were stored.
  bool is_optional = false;
};

/// A whole number from `least` to 2^24. Value: int64_t.
AttributeParser whole_number(int64_t least = 1);

/// 0 or 1. Value: bool.
AttributeParser flag();

/// One of these words. Value: std::string.
AttributeParser one_of(std::vector<std::string> words);

/// Two numbers, of rows and of columns: `s` for both or `hxw`. Value: HeightWidth.
struct HeightWidth {
  int64_t h = 0, w = 0;
};
AttributeParser height_width(int64_t least);

/// How far an image is extended: `p`, `hxw` or `top:left:bottom:right`, printed in the shortest form. Value: Pads.
struct Pads {
  int64_t top = 0, left = 0, bottom = 0, right = 0;
};
AttributeParser pads();

/// Extents joined by x, at most 8, each from 1 to 2^32, of 2^48 elements at most together. Value: std::vector<int64_t>.
AttributeParser extents();

/// An axis of the attribute `shape`, negative from the end. Value: int64_t, not negative.
AttributeParser axis_of_shape();

/// The pieces of the parsers above, for those of single operators. `what` begins their errors.
int64_t parse_number(std::string_view what, std::string_view text, int64_t least, int64_t most);
std::vector<int64_t> parse_extents(std::string_view what, std::string_view text);
std::string text_of_extents(const std::vector<int64_t>& extents);

}  // namespace hone
