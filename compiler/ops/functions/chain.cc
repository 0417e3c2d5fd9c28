#include "compiler/ops/functions/chain.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/near_name.h"
#include "compiler/ir/layout.h"
#include "compiler/ir/visitor.h"
#include "compiler/ops/attributes/attribute.h"
#include "compiler/ops/attributes/split_text.h"

namespace hone {
namespace {

constexpr size_t kMaxFunctions = 16;
// The names of labels in canonical texts.
constexpr std::string_view kLabels[] = {"s", "t", "u", "v", "w"};

const Operand kChannelOperand{Operand::Kind::kChannel, {}}, kSameOperand{Operand::Kind::kSame, {}};

// The parts of `text` between plus signs that are neither in brackets nor in a number (1e+20).
std::vector<std::string> split_links(std::string_view text) {
  std::vector<std::string> links(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == '+' && depth == 0)
      links.emplace_back();
    else
      links.back() += c;
  }
  return links;
}

bool is_name(std::string_view text) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
  });
}

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string text_of(double number, ArgumentKind kind) {
  const std::string text = fmt::format("{}", number);
  return kind != ArgumentKind::kNumber && text == "1" ? "1.0" : text;
}

// How often one application of a link uses x (`argument` 0) or one of its arguments.
int64_t uses(const ChainLink& link, size_t argument) {
  const ScalarFunction& f = *link.function;
  const DType type = f.takes_floats ? f32 : f.takes_integers ? i32 : boolean;
  std::vector<Var> vars{Var("x", type)};
  std::vector<Expr> args{vars[0]};
  for (size_t a = 0; a < link.arguments.size(); ++a) {
    vars.emplace_back("y", type_of_argument(link, a, type));
    const double* number = std::get_if<double>(&link.arguments[a]);
    args.push_back(number ? make_const(*number, type) : Expr(vars.back()));
  }
  class Counter final : public Visitor {
   public:
    explicit Counter(const VarNode* var) : var_(var) {}
    int64_t count = 0;

   protected:
    using Visitor::visit;
    void visit(const VarNode* op) override { count += op == var_; }

   private:
    const VarNode* var_;
  } counter(vars[argument].get());
  counter(f.apply(args, type));
  return counter.count;
}

class Reader {
 public:
  Reader(std::string_view text, const ChainContext& context) : text_(text), context_(context) {}

  Chain read() {
    if (text_ == "none") return {};
    size_t functions = 0;
    for (const std::string& part : split_links(text_)) {
      if (part.starts_with("x="))
        read_label(part.substr(2));
      else
        read_function(part), ++functions;
    }
    require(functions <= kMaxFunctions, fmt::format("has {} functions; at most {}", functions, kMaxFunctions));
    for (size_t l = 0; l < labels_.size(); ++l)
      require(used_[l], fmt::format("names '{}' and does not use it", labels_[l]));
    return std::move(chain_);
  }

 private:
  void require(bool holds, const std::string& what) const {
    if (!holds) throw UserError(fmt::format("{}={} {}", context_.what, text_, what));
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw UserError(fmt::format("{}={}: {}", context_.what, text_, what));
  }

  void read_label(const std::string& name) {
    if (!is_name(name) || name == "c" || name == "r" || name == "same" || number_of(name))
      fail(fmt::format("'{}' is not a name: lower-case letters, digits and _, other than c, r and same", name));
    if (std::find(labels_.begin(), labels_.end(), name) != labels_.end())
      fail(fmt::format("two values are named '{}'", name));
    if (labels_.size() == std::size(kLabels)) fail(fmt::format("more than {} names", std::size(kLabels)));
    labels_.push_back(name);
    used_.push_back(false);
    label_uses_.push_back(uses_);
    chain_.links.emplace_back();
  }

  void read_function(const std::string& part) {
    const size_t open = part.find('['), close = part.find(']');
    const size_t colon = part.find(':', close == std::string::npos ? 0 : close);
    const std::string name = part.substr(0, std::min(open, colon));
    ChainLink link;
    const bool is_bias = name == "bias" && context_.channel_axis;
    link.function = context_.functions.find(is_bias ? "add" : name);
    if (!link.function) fail_unknown(name);
    if (open != std::string::npos && (close == std::string::npos || close < open ||
                                      (colon == std::string::npos ? close + 1 != part.size() : close + 1 != colon)))
      fail(fmt::format("'{}' is not of the form function[argument;argument]:dtype", part));
    if (colon != std::string::npos) link.result = parse_result(part.substr(colon + 1));
    if (link.function->needs_result && !link.result) fail(fmt::format("'{}' needs a type: {}:u8", name, name));
    const ScalarFunction& f = *link.function;
    if (is_bias) {
      if (open != std::string::npos) fail("'bias' has its argument: an element a channel");
      link.arguments = {kChannelOperand};
    } else {
      read_arguments(name,
                     open == std::string::npos ? std::vector<std::string>{}
                                               : split_text(part.substr(open + 1, close - open - 1), ';'),
                     f, &link.arguments);
    }
    count_uses(link);
    chain_.links.push_back(std::move(link));
  }

  [[noreturn]] void fail_unknown(const std::string& name) const {
    std::vector<std::string> known;
    for (const auto& row : context_.functions.rows()) known.push_back(row->name);
    const std::string meant = did_you_mean(name, known);
    fail(fmt::format("'{}' is unknown{} allowed: {}{}, joined by +", name, meant.empty() ? ";" : meant,
                     context_.channel_axis ? "none, or bias " : "", context_.functions.names()));
  }

  DType parse_result(const std::string& text) const {
    try {
      return parse_dtype(text);
    } catch (const UserError& e) {
      fail(e.what());
    }
  }

  void read_arguments(const std::string& name, const std::vector<std::string>& texts, const ScalarFunction& f,
                      std::vector<Argument>* out) {
    size_t next = 0;
    if (texts.empty() && !f.defaults.empty()) {
      out->assign(f.defaults.begin(), f.defaults.end());
      return;
    }
    for (const ArgumentKind kind : f.arguments) {
      const bool is_left_out = texts.empty() && kind != ArgumentKind::kNumber;
      if (!is_left_out && next == texts.size())
        fail(fmt::format("'{}' takes {} argument{} in brackets", name, f.arguments.size(),
                         f.arguments.size() == 1 ? "" : "s"));
      out->push_back(is_left_out ? kSameOperand : read_argument(texts[next++], kind));
    }
    if (next != texts.size())
      fail(fmt::format("'{}' takes {} argument{}, not {}", name, f.arguments.size(), f.arguments.size() == 1 ? "" : "s",
                       texts.size()));
  }

  Argument read_argument(const std::string& text, ArgumentKind kind) {
    if (const auto label = std::find(labels_.begin(), labels_.end(), text); label != labels_.end()) {
      if (kind == ArgumentKind::kNumber) fail(fmt::format("'{}' is not a number", text));
      const auto index = static_cast<size_t>(label - labels_.begin());
      used_[index] = true;
      return Label{index};
    }
    const bool is_tensor = kind != ArgumentKind::kNumber && (text == "1" || !number_of(text));
    if (!is_tensor) {
      const std::optional<double> number = number_of(text);
      if (!number) fail(fmt::format("'{}' is not a number", text));
      if (kind == ArgumentKind::kCondition) fail(fmt::format("'{}' is no tensor of bools", text));
      return *number;
    }
    if (!context_.writes_operands && text == "same") return kSameOperand;
    if (!context_.writes_operands)
      fail(fmt::format("'{}': tensors are given by operands=, in order; brackets take numbers, names and same", text));
    return read_operand(text);
  }

  Operand read_operand(const std::string& text) const {
    using Kind = Operand::Kind;
    if (text == "same") return kSameOperand;
    const auto is_one = [](const std::vector<int64_t>& shape) { return shape == std::vector<int64_t>{1}; };
    if (text == "1") return is_one(context_.shape()) ? kSameOperand : Operand{Kind::kOne, {}};
    if (text == "c" || text == "r") {
      if (text == "c" ? !context_.channel_axis : !context_.has_rows)
        fail(fmt::format("there are no {} here", text == "c" ? "channels" : "rows"));
      const std::vector<int64_t> shape = context_.shape();
      if (text == "r" && is_one({shape.begin(), shape.end() - 1})) return {Kind::kOne, {}};
      return {text == "c" ? Kind::kChannel : Kind::kRow, {}};
    }
    if (text.empty() || text[0] < '0' || text[0] > '9')
      fail(fmt::format("'{}' is none of c, r, 1, same, extents (1x64x1x1), a number and a name given by x=", text));
    const std::vector<int64_t> extents = parse_extents(context_.what, text), shape = context_.shape();
    bool fits = extents.size() == shape.size();
    for (size_t d = 0; fits && d < shape.size(); ++d) fits = extents[d] == shape[d] || extents[d] == 1;
    if (!fits) fail(fmt::format("{} does not fit {}; each extent is that or 1", text, text_of_extents(shape)));
    if (extents == shape) return kSameOperand;
    if (std::all_of(extents.begin(), extents.end(), [](int64_t n) { return n == 1; })) return {Kind::kOne, {}};
    return {Kind::kShape, extents};
  }

  void count_uses(const ChainLink& link) {
    int64_t sum = uses_ * uses(link, 0);
    for (size_t a = 0; a < link.arguments.size(); ++a)
      if (const Label* l = std::get_if<Label>(&link.arguments[a])) sum += label_uses_[l->index] * uses(link, a + 1);
    uses_ = sum;
    require(uses_ <= context_.most_uses,
            fmt::format("uses its first value {} times; at most {}", uses_, context_.most_uses));
  }

  const std::string_view text_;
  const ChainContext& context_;
  Chain chain_;
  std::vector<std::string> labels_;
  std::vector<bool> used_;
  std::vector<int64_t> label_uses_;
  int64_t uses_ = 1;  ///< of the first value in the expression for the value so far
};

std::string text_of(const Operand& o) {
  switch (o.kind) {
    case Operand::Kind::kChannel: return "c";
    case Operand::Kind::kRow: return "r";
    case Operand::Kind::kOne: return "1";
    case Operand::Kind::kSame: return "same";
    case Operand::Kind::kShape: break;
  }
  return text_of_extents(o.shape);
}

std::string text_of(const Argument& a, ArgumentKind kind) {
  if (const Operand* o = std::get_if<Operand>(&a)) return text_of(*o);
  if (const Label* l = std::get_if<Label>(&a)) return std::string(kLabels[l->index]);
  return text_of(std::get<double>(a), kind);
}

// Whether numbers of type `t` include this one, if rounded.
bool holds(DType t, double number) {
  if (t.is_float()) {
    const double most = t == f64   ? std::numeric_limits<double>::max()
                        : t == f16 ? 65504
                        : t == f32 ? double{std::numeric_limits<float>::max()}
                                   : 0x1.fep127;
    return std::fabs(number) <= most;
  }
  // Only integers that a double holds exactly.
  const int digits = std::min(53, t.bits - (t.code == TypeCode::kInt ? 1 : 0));
  const double end = std::ldexp(1.0, digits);
  return number == std::floor(number) && number < end && number >= (t.code == TypeCode::kInt ? -end : 0);
}

// Whether every number of `from` is one of `to`, or becomes the nearest one by a plain conversion.
bool cannot_saturate(DType from, DType to) {
  if (to.is_float() || from == to) return true;
  return !from.is_float() && holds_all(from, to);
}

void require_takes(const ScalarFunction& f, DType value, std::string_view what) {
  if (f.takes(value)) return;
  std::vector<std::string> taken;
  for (const auto& [takes, name] :
       {std::pair(f.takes_floats, "floats"), {f.takes_integers, "integers"}, {f.takes_bools, "bools"}})
    if (takes) taken.emplace_back(name);
  throw UserError(fmt::format("{}: '{}' takes {}, and the value is {} there{}", what, f.name,
                              absl::StrJoin(taken, ", "), to_string(value),
                              f.takes_floats ? ": cast:f32 before it makes it one" : ""));
}

bool is_add_of(const ChainLink& link, const Operand& o) {
  return link.function && link.function->name == "add" && link.arguments == std::vector<Argument>{o};
}

}  // namespace

std::string argument_text(float number) {
  std::string text = fmt::format("{}", number);
  return text == "1" ? "1.0" : text;
}

Chain parse_chain(std::string_view text, const ChainContext& context) { return Reader(text, context).read(); }

std::string to_text(const Chain& chain, const ChainContext& context) {
  if (chain.empty()) return "none";
  std::string out;
  size_t labels = 0;
  for (const ChainLink& link : chain.links) {
    if (!out.empty()) out += '+';
    if (!link.function) {
      out += fmt::format("x={}", kLabels[labels++]);
      continue;
    }
    const ScalarFunction& f = *link.function;
    const bool plain =
        f.defaults.empty()
            ? std::all_of(link.arguments.begin(), link.arguments.end(),
                          [](const Argument& a) { return a == Argument(kSameOperand); })
            : std::equal(link.arguments.begin(), link.arguments.end(), f.defaults.begin(), f.defaults.end(),
                         [](const Argument& a, double number) { return a == Argument(number); });
    if (context.channel_axis && is_add_of(link, kChannelOperand)) {
      out += "bias";
    } else {
      out += f.name;
      if (!plain) {
        for (size_t a = 0; a < link.arguments.size(); ++a)
          out += (a == 0 ? "[" : ";") + text_of(link.arguments[a], f.arguments[a]);
        out += ']';
      }
    }
    if (link.result) out += ":" + to_string(*link.result);
  }
  return out;
}

Chain canonical(const Chain& chain, DType value, DType outside, const FunctionTable& functions) {
  Chain out;
  std::vector<size_t> labels;  // the label in `out` of each label of the chain
  size_t count = 0;
  bool is_named = false;
  for (size_t l = 0; l < chain.links.size(); ++l) {
    ChainLink link = chain.links[l];
    ChainLink* before = out.links.empty() ? nullptr : &out.links.back();
    if (!link.function) {
      if (!before || before->function || count == 0) out.links.push_back(link), ++count;
      labels.push_back(count - 1);
      continue;
    }
    for (Argument& a : link.arguments) {
      if (Label* label = std::get_if<Label>(&a)) label->index = labels[label->index];
      if (double* number = std::get_if<double>(&a)) *number += 0.0;  // not -0
    }
    if (link.function->name == "saturate" && cannot_saturate(value, *link.result))
      link.function = functions.find("cast");
    const bool is_last = l + 1 == chain.links.size();
    if (link.function->gives_bool) value = boolean, is_named = true;
    // Operands and the result would be of that type anyway.
    if (link.result == value && (is_named || outside == value) && link.function->name != "saturate")
      link.result.reset();
    const bool says_the_result = is_last && !is_named && link.result == outside && link.function->name != "saturate";
    if (says_the_result) link.result.reset();
    if (link.result) value = *link.result, is_named = true;
    if (link.function->name == "cast") {
      if (!link.result) continue;
      if (before && before->function && !before->result && before->function->name != "saturate") {
        before->result = link.result;
        continue;
      }
    }
    out.links.push_back(std::move(link));
  }
  return out;
}

ChainTypes types_of(const Chain& chain, DType value, DType outside, std::string_view what) {
  ChainTypes types;
  bool is_named = false;
  for (size_t l = 0; l < chain.links.size(); ++l) {
    const ChainLink& link = chain.links[l];
    if (link.function) {
      require_takes(*link.function, value, what);
      for (size_t position = 0; position < link.arguments.size(); ++position) {
        const Argument& a = link.arguments[position];
        if (const Operand* o = std::get_if<Operand>(&a)) {
          std::string name = is_add_of(link, kChannelOperand) ? "bias"
                             : is_add_of(link, kSameOperand)  ? "residual"
                                                              : fmt::format("{}{}", link.function->name, l + 1);
          const auto is_taken = [&](const ChainOperand& other) { return other.name == name; };
          const auto is_free = [&] { return std::none_of(types.operands.begin(), types.operands.end(), is_taken); };
          if (!is_free()) name += fmt::format("{}", l + 1);
          while (!is_free()) name += "_";
          types.operands.push_back({std::move(name), *o, type_of_argument(link, position, is_named ? value : outside)});
        } else if (const double* number = std::get_if<double>(&a)) {
          HONE_USER_CHECK(holds(value, *number))
              << what << ": " << fmt::format("{}", *number) << " is no " << to_string(value);
        }
      }
      if (link.function->gives_bool) value = boolean, is_named = true;
      if (link.result) value = *link.result, is_named = true;
    }
    types.after.push_back(value);
  }
  types.result = is_named ? value : outside;
  return types;
}

std::vector<int64_t> shape_of(const Operand& o, const std::vector<int64_t>& shape, std::optional<size_t> channel_axis) {
  switch (o.kind) {
    case Operand::Kind::kChannel: return {shape[channel_axis.value()]};
    case Operand::Kind::kRow: return {shape.begin(), shape.end() - 1};
    case Operand::Kind::kOne: return {1};
    case Operand::Kind::kSame: return shape;
    case Operand::Kind::kShape: break;
  }
  return o.shape;
}

std::vector<Expr> indices_of(const Operand& o, const std::vector<Expr>& i, std::optional<size_t> channel_axis) {
  switch (o.kind) {
    case Operand::Kind::kChannel: return {i[channel_axis.value()]};
    case Operand::Kind::kRow: return {i.begin(), i.end() - 1};
    case Operand::Kind::kOne: return {make_int(0)};
    case Operand::Kind::kSame: return i;
    case Operand::Kind::kShape: break;
  }
  std::vector<Expr> at = i;
  for (size_t d = 0; d < at.size(); ++d)
    if (o.shape[d] == 1) at[d] = make_int(0);
  return at;
}

ParamRole role_of(const Operand& o) {
  return o.kind == Operand::Kind::kChannel ? ParamRole::kConstant : ParamRole::kInput;
}

DType type_of_argument(const ChainLink& link, size_t argument, DType x) {
  return link.function->arguments[argument] == ArgumentKind::kCondition ? boolean : x;
}

Expr apply(const ChainLink& link, const Expr& x, const std::vector<Expr>& arguments, DType after) {
  std::vector<Expr> args{x};
  args.insert(args.end(), arguments.begin(), arguments.end());
  return cast(after, link.function->apply(args, after));
}

Expr apply(const Chain& chain, const ChainTypes& types, const Expr& x, const std::function<Expr(size_t)>& element) {
  Expr value = x;
  std::vector<Expr> labels;
  size_t operands = 0;
  for (size_t l = 0; l < chain.links.size(); ++l) {
    const ChainLink& link = chain.links[l];
    if (!link.function) {
      labels.push_back(value);
      continue;
    }
    std::vector<Expr> arguments;
    for (size_t position = 0; position < link.arguments.size(); ++position) {
      const Argument& a = link.arguments[position];
      const DType t = type_of_argument(link, position, value->dtype);
      if (std::holds_alternative<Operand>(a))
        arguments.push_back(cast(t, element(operands++)));
      else if (const Label* label = std::get_if<Label>(&a))
        arguments.push_back(cast(t, labels[label->index]));
      else
        arguments.push_back(make_const(std::get<double>(a), t));
    }
    value = apply(link, value, arguments, types.after[l]);
  }
  return value;
}

int operations_of(const Chain& chain) {
  int sum = 0;
  for (const ChainLink& link : chain.links)
    if (link.function) sum += link.function->operations;
  return sum;
}

}  // namespace hone
