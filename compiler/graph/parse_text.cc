#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cstring>
#include <unordered_map>

#include "base/check.h"
#include "base/key.h"
#include "compiler/graph/element_text.h"
#include "compiler/graph/text.h"
#include "compiler/ir/layout.h"
#include "compiler/ops/definition_text.h"
#include "compiler/ops/windows/physical.h"
#include "compiler/users/check_definition.h"

namespace hone {
namespace {

constexpr int kMostLines = 1 << 18;
constexpr int64_t kMostConstantBytes = int64_t{64} << 20;

class GraphParser {
 public:
  GraphParser(const OperatorTable& operators, std::string_view text, std::span<const TensorData> given)
      : operators_(operators), given_(given), rest_(text) {}

  Graph run() {
    while (next_line()) {
      if (at_end()) continue;
      if (!has_head_)
        parse_head();
      else
        parse_line();
    }
    column_ = 0;
    require(has_head_, "the graph is missing: the first line is `graph NAME`");
    if (const auto fault = fault_of(graph_)) {
      line_number_ = fault->node < 0 ? line_number_ : lines_of_nodes_[fault->node];
      fail(fault->what);
    }
    return std::move(graph_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw UserError(fmt::format("{}:{}: {}", line_number_, column_ + 1, what));
  }
  void require(bool holds, std::string_view what) const {
    if (!holds) fail(std::string(what));
  }

  // The text at the cursor, for errors: at most a few words.
  std::string seen() const {
    constexpr size_t kMost = 24;
    if (column_ == line_.size()) return "the line's end";
    std::string out = "'";
    for (const char c : line_.substr(column_, kMost)) out += std::isprint(static_cast<unsigned char>(c)) ? c : '?';
    return out + (line_.size() - column_ > kMost ? "…'" : "'");
  }

  bool next_line() {
    if (rest_.empty()) return false;
    const size_t end = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    column_ = 0;
    ++line_number_;
    require(line_number_ <= kMostLines, "a graph has at most 2^18 lines");
    return true;
  }

  void skip_spaces() {
    while (column_ < line_.size() && line_[column_] == ' ') ++column_;
  }
  // Whether nothing but a comment is left.
  bool at_end() {
    skip_spaces();
    return column_ == line_.size() || line_[column_] == '#';
  }
  bool take(std::string_view what) {
    skip_spaces();
    if (line_.substr(column_, what.size()) != what) return false;
    column_ += what.size();
    return true;
  }
  void expect(std::string_view what, std::string_view where) {
    if (!take(what)) fail(fmt::format("{} is not `{}`, which {}", seen(), what, where));
  }
  // The longest piece of such characters.
  template <class F>
  std::string_view take_while(const F& is_part) {
    const size_t begin = column_;
    while (column_ < line_.size() && is_part(line_[column_])) ++column_;
    return line_.substr(begin, column_ - begin);
  }

  std::string unescaped(char until) {
    std::string out;
    for (; column_ < line_.size() && line_[column_] != until; ++column_) {
      if (line_[column_] != '\\') {
        out += line_[column_];
        continue;
      }
      const std::string_view code = line_.substr(column_ + 1, 3);
      uint8_t byte = 0;
      if (!code.empty() && (code[0] == '"' || code[0] == '\\')) {
        out += code[0];
        ++column_;
      } else if (!code.empty() && code[0] == 'n') {
        out += '\n';
        ++column_;
      } else {
        const bool is_hex = code.size() == 3 && code[0] == 'x' &&
                            std::from_chars(code.data() + 1, code.data() + 3, byte, 16).ptr == code.data() + 3;
        require(is_hex, R"(after \ there is one of ", \, n and xHH)");
        out += static_cast<char>(byte);
        column_ += 3;
      }
    }
    return out;
  }

  std::string value_name() {
    skip_spaces();
    if (!take("%")) fail(seen() + " is not a value: they are called %NAME");
    const std::string_view name = take_while(
        [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || (c && std::strchr("_./:-", c)); });
    if (name.empty()) fail("after % there is a name of letters, digits and _./:-");
    return std::string(name);
  }

  ValueId known_value() {
    skip_spaces();
    const size_t begin = column_;
    const std::string name = value_name();
    const auto it = values_.find(name);
    if (it != values_.end()) return it->second;
    column_ = begin;
    fail("%" + name + " is not there yet: values are computed before they are read");
  }

  ValueId new_value(const std::string& name, size_t column, TensorType type) {
    const bool is_new = values_.emplace(name, static_cast<ValueId>(graph_.values.size())).second;
    if (!is_new) {
      column_ = column;
      fail("there is a %" + name + " already");
    }
    graph_.values.push_back({name, std::move(type), std::nullopt});
    return static_cast<ValueId>(graph_.values.size()) - 1;
  }

  size_t whole_number(const char* what) {
    skip_spaces();
    int64_t number = 0;
    const std::string_view digits = take_while([](char c) { return c >= '0' && c <= '9'; });
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (digits.empty() || error != std::errc())
      fail(fmt::format("{} is a whole number{}", what, digits.empty() ? ", not " + seen() : ""));
    return static_cast<size_t>(number);
  }

  TensorType parse_type() {
    skip_spaces();
    const size_t begin = column_;
    const std::string_view word = take_while([](char c) { return std::isalnum(static_cast<unsigned char>(c)); });
    TensorType type;
    try {
      type.dtype = parse_dtype(word);
    } catch (const UserError&) {
      column_ = begin;
      fail(seen() +
           " is not a type, like f32[1, 3]: f16, bf16, f32, f64, s8 to s64, u8 to u64 or bool, then the shape");
    }
    expect("[", "begins a shape");
    if (take("]")) return type;
    do {
      type.shape.push_back(static_cast<int64_t>(whole_number("an extent")));
      require(type.shape.size() <= kMostAxes, "a tensor has at most 32 dimensions");
    } while (take(","));
    expect("]", "ends a shape");
    try {
      element_count(type.shape);
    } catch (const UserError& e) {
      fail(e.what());
    }
    return type;
  }

  void parse_head() {
    expect("graph", "begins the first line, `graph NAME`");
    if (column_ < line_.size()) expect_space();
    graph_.name = unescaped('\0');
    require(column_ == line_.size(), "a name has no byte 0");
    has_head_ = true;
  }
  void expect_space() {
    require(line_[column_] == ' ', "a space is missing");
    ++column_;
  }

  void parse_line() {
    if (line_[column_] == '%') return parse_definition();
    if (take("input ")) return parse_port(true);
    if (take("output ")) return parse_port(false);
    if (take("definition ")) return parse_operator();
    fail(seen() + " is none of `input`, `output`, `definition` and a value, %NAME = …");
  }

  // HASH {"inputs":…}
  void parse_operator() {
    skip_spaces();
    const std::string hash(take_while([](char c) { return c != ' '; }));
    skip_spaces();
    try {
      const Definition d = definition_from_text(line_.substr(column_));
      require(key_hash(definition_to_text(d)) == hash, "the hash of a definition stands in front of it");
      check_definition(d);
      operators_.definitions().add(d);
    } catch (const UserError& e) {
      if (std::string_view(e.what()).starts_with(std::to_string(line_number_) + ":")) throw;
      fail(e.what());
    }
  }

  // "data" %data f32[1, 3]
  void parse_port(bool is_input) {
    Port p;
    expect("\"", "begins the port's name");
    p.name = unescaped('"');
    expect("\"", "ends the port's name");
    skip_spaces();
    const size_t begin = column_;
    const bool has_value = !take("none");
    if (has_value && is_input) {
      const std::string name = value_name();
      p.type = parse_type();
      TensorType own = p.type;
      if (own.shape.empty()) own.shape = {1};
      p.value = new_value(name, begin, own);
    } else {
      if (has_value) p.value = known_value();
      p.type = parse_type();
    }
    if ((element_count(p.type.shape) == 0) == has_value)
      fail("a port has `none` for its value where it has no elements, and only there");
    if (has_value && !is_input) {
      const TensorType& t = graph_.value(p.value).type;
      if (t.dtype != p.type.dtype || element_count(t.shape) != element_count(p.type.shape))
        fail(fmt::format("%{} is {}, not {}", graph_.value(p.value).name, to_string(t), to_string(p.type)));
    }
    if (!is_input && take("extent ")) {
      p.extent = Port::Extent{whole_number("an axis"), 0};
      expect("by", "stands between an axis and the output that counts");
      p.extent->count = whole_number("an output");
    }
    require(at_end(), "nothing follows the type of a port");
    (is_input ? graph_.inputs : graph_.outputs).push_back(std::move(p));
  }

  void parse_definition() {
    std::vector<std::pair<std::string, size_t>> names;
    do {
      skip_spaces();
      const size_t begin = column_;
      names.emplace_back(value_name(), begin);
    } while (take(","));
    expect("=", "stands behind the names of what is computed");
    if (!take("constant ")) return parse_node(names);
    require(names.size() == 1, "a constant is one value");
    parse_constant(names[0].first, names[0].second);
  }

  void parse_constant(const std::string& name, size_t column) {
    const TensorType type = parse_type();
    require(!type.shape.empty() && element_count(type.shape) > 0, "a constant is of rank 1 at least, with elements");
    const size_t at = column_;
    if (take("given ")) return parse_given(name, column, type);
    column_ = at;
    const int64_t elements = element_count(type.shape);
    constant_bytes_ += bytes_of(type);  // below 2^51, and refused above 2^26: no overflow
    require(constant_bytes_ <= kMostConstantBytes, "constants have at most 64 MiB together");
    std::string bytes;
    if (take("fill ")) {
      skip_spaces();
      uint64_t seed = 0;
      const std::string_view digits = take_while([](char c) { return c >= '0' && c <= '9'; });
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seed);
      require(!digits.empty() && error == std::errc(), "behind `fill` there is a whole number below 2^64");
      bytes = filled_elements(type.dtype, elements, seed);
    } else if (take("hash ")) {
      fail("a hash does not say the elements: print more of them, or write `fill` and a number");
    } else {
      bytes = parse_elements(type, elements);
    }
    require(at_end(), "nothing follows the elements of a constant");
    graph_.values[new_value(name, column, type)].constant = TensorData(type, std::move(bytes));
  }

  void parse_given(const std::string& name, size_t column, const TensorType& type) {
    skip_spaces();
    const size_t begin = column_, number = whole_number("a given constant");
    if (number >= given_.size()) {
      column_ = begin;
      fail(fmt::format("there is no constant {}: {} are given", number, given_.size()));
    }
    TensorData data = given_[number];
    // Who has no such types has their bytes.
    const bool are_bits =
        (type.dtype == bf16 && data.type().dtype == u16) || (type.dtype.is_bool() && data.type().dtype == u8);
    if (are_bits && data.type().shape == type.shape)
      data = TensorData(type, std::string(data.bytes().begin(), data.bytes().end()));
    if (data.type() != type) {
      column_ = begin;
      fail(fmt::format("the given constant {} is {}, not {}", number, to_string(data.type()), to_string(type)));
    }
    require(at_end(), "nothing follows the number of a given constant");
    graph_.values[new_value(name, column, type)].constant = data;
  }

  std::string parse_elements(const TensorType& type, int64_t elements) {
    expect("[", "begins the elements (or `fill` and a number stands there)");
    std::string bytes;
    int64_t count = 0;
    do {
      skip_spaces();
      const size_t begin = column_;
      const std::string_view word = take_while(
          [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || (c && std::strchr("+-.", c)); });
      if (!append_element(word, type.dtype, &bytes)) {
        column_ = begin;
        fail(fmt::format("{} is no number of type {}", seen(), to_string(type.dtype)));
      }
      ++count;
    } while (count <= elements && take(","));
    if (count != elements) fail(fmt::format("{} has {} elements, not {}", to_string(type), elements, count));
    expect("]", "ends the elements");
    return bytes;
  }

  // OPERATOR(attributes) %x %y   # origin
  void parse_node(const std::vector<std::pair<std::string, size_t>>& names) {
    skip_spaces();
    const size_t begin = column_, end = line_.find(')', begin);
    if (end == std::string_view::npos) fail(seen() + " is neither a constant nor an operator(attributes)");
    Node n;
    PhysicalTypes types;
    try {
      n.workload = Workload::parse(operators_, line_.substr(begin, end + 1 - begin));
      types = physical_types(n.workload);
    } catch (const UserError& e) {
      fail(e.what());
    }
    column_ = end + 1;
    while (!at_end()) n.inputs.push_back(known_value());
    if (column_ < line_.size()) {
      ++column_;
      if (column_ < line_.size() && line_[column_] == ' ') ++column_;
      n.origin = unescaped('\0');
      require(column_ == line_.size(), "a name has no byte 0");
    }
    column_ = begin;
    if (names.size() != types.outputs.size())
      fail(fmt::format("{} gives {} outputs, not {}", n.workload.operator_name(), types.outputs.size(), names.size()));
    for (size_t o = 0; o < names.size(); ++o)
      n.outputs.push_back(new_value(names[o].first, names[o].second, types.outputs[o].type));
    lines_of_nodes_.push_back(line_number_);
    graph_.nodes.push_back(std::move(n));
  }

  const OperatorTable& operators_;
  const std::span<const TensorData> given_;
  std::string_view rest_, line_;
  size_t column_ = 0;  ///< of the cursor, from 0
  int line_number_ = 0;
  bool has_head_ = false;
  Graph graph_;
  std::unordered_map<std::string, ValueId> values_;
  IdVector<int> lines_of_nodes_;
  int64_t constant_bytes_ = 0;
};

}  // namespace

Graph parse_graph(const OperatorTable& operators, std::string_view text, std::span<const TensorData> given) {
  return GraphParser(operators, text, given).run();
}

}  // namespace hone
