#include "compiler/ops/definition_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "compiler/ir/layout.h"
#include "compiler/ir/visitor.h"

namespace hone {
namespace {

constexpr std::string_view kReductionNames[] = {"", "sum", "max", "min"};  // by ReduceKind
constexpr int kBinaryOpCount = static_cast<int>(BinaryOp::kOr) + 1;

// ---- writing ----

Json json_of_axes(const std::vector<Axis>& axes) {
  Json out = Json::array();
  for (const Axis& a : axes) out.push_back({a.var->name, a.extent});
  return out;
}

// JSON has no infinities and no NaN.
Json json_of_number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

class DefinitionWriter {
 public:
  explicit DefinitionWriter(const Definition& d) : stages_(stages_of(d)) {
    for (const auto& [tensor, role] : d.inputs) {
      inputs_.push_back({tensor->name, to_string(tensor->buffer->dtype), tensor->shape, name_of(role)});
      tensors_.push_back(tensor.node().get());
    }
    tensors_.insert(tensors_.end(), stages_.begin(), stages_.end());
    text_["inputs"] = inputs_;
    text_["stages"] = Json::array();
    for (const TensorNode* t : stages_) text_["stages"].push_back(stage(*t));
    text_["outputs"] = Json::array();
    for (const Tensor& t : d.outputs) text_["outputs"].push_back(number_of(t->buffer));
  }
  std::string text() const { return json_line(text_); }

 private:
  Json stage(const TensorNode& t) {
    HONE_ICHECK(t.caller_shape.empty()) << t.name << " has another shape for callers";
    HONE_ICHECK(!t.is_open) << t.name << " has sizes without numbers";
    at_ = &t;
    first_ = Expr();
    Json j = {{"name", t.name}, {"axes", json_of_axes(t.axes)}, {"value", expression(t.body)}};
    if (t.reduce != ReduceKind::kNone) {
      j["reduce"] = kReductionNames[static_cast<size_t>(t.reduce)];
      j["over"] = json_of_axes(t.reduce_axes);
    }
    j["reads"] = Json::array();
    for (const auto& in : t.inputs) j["reads"].push_back(number_of(in->buffer));
    if (t.is_inlined) j["inlined"] = true;
    if (t.compares_bits) j["compares_bits"] = true;
    if (t.scan_axis) {
      j["scan"] = *t.scan_axis;
      // A scan may leave the element before alone: then nothing says what the first one follows.
      j["first"] = expression(first_ ? first_ : reduce_identity(ReduceKind::kSum, t.buffer->dtype));
    }
    return j;
  }
  size_t number_of(const Buffer& buffer) const {
    for (size_t n = 0; n < tensors_.size(); ++n)
      if (tensors_[n]->buffer.same_as(buffer)) return n;
    throw UserError("the definition reads '" + buffer->name + "', which is not among its inputs");
  }
  std::string axis(const VarNode* v) const {
    const auto in = [v](const std::vector<Axis>& axes) {
      return std::find_if(axes.begin(), axes.end(), [v](const Axis& a) { return a.var.get() == v; }) - axes.begin();
    };
    if (const auto n = in(at_->axes); n < std::ssize(at_->axes)) return "i" + std::to_string(n);
    if (const auto n = in(at_->reduce_axes); n < std::ssize(at_->reduce_axes)) return "k" + std::to_string(n);
    throw UserError("stage '" + at_->name + "' uses axis '" + v->name + "', which is not one of its own");
  }
  Json node(std::string_view op, std::initializer_list<Expr> operands) {
    Json j = {op};
    for (const Expr& e : operands) j.push_back(expression(e));
    return j;
  }
  Json expression(const Expr& e) {
    switch (e->kind) {
      case ExprKind::kIntImm: return {to_string(e->dtype), as<IntImm>(e)->value};
      case ExprKind::kFloatImm: return {to_string(e->dtype), json_of_number(as<FloatImm>(e)->value)};
      case ExprKind::kVar: return axis(as<VarNode>(e));
      case ExprKind::kCast: return {"cast", to_string(e->dtype), expression(as<Cast>(e)->value)};
      case ExprKind::kBinary: return node(symbol_of(as<Binary>(e)->op), {as<Binary>(e)->a, as<Binary>(e)->b});
      case ExprKind::kNot: return node("not", {as<Not>(e)->value});
      case ExprKind::kSelect: {
        const auto* s = as<Select>(e);
        if (previous_of(*at_, e)) {
          first_ = s->on_false;
          return Json::array({"previous"});
        }
        return node("where", {s->condition, s->on_true, s->on_false});
      }
      case ExprKind::kLoad: {
        Json j = {"[]", number_of(as<Load>(e)->buffer)};
        for (const Expr& index : as<Load>(e)->indices) j.push_back(expression(index));
        return j;
      }
      case ExprKind::kCall: {
        Json j = {name_of(as<Call>(e)->function)};
        for (const Expr& a : as<Call>(e)->args) j.push_back(expression(a));
        return j;
      }
      default: HONE_ICHECK(false) << "a definition with vectors"; throw UserError("");
    }
  }

  const std::vector<const TensorNode*> stages_;
  std::vector<const TensorNode*> tensors_;
  const TensorNode* at_ = nullptr;
  Expr first_;  // of the scan that is written
  Json inputs_ = Json::array(), text_;
};

// ---- reading ----

std::vector<Axis> axes_from_json(const Json& j) {
  std::vector<Axis> axes;
  for (const Json& a : j) axes.push_back(reduce_axis(a.at(0).get<std::string>(), a.at(1).get<int64_t>()));
  for (const Axis& a : axes) HONE_USER_CHECK(a.extent >= 1) << "an axis of extent " << a.extent;
  return axes;
}

double number_from_json(const Json& j) {
  if (!j.is_string()) return j.get<double>();
  const auto& text = j.get_ref<const std::string&>();
  HONE_USER_CHECK(text == "inf" || text == "-inf" || text == "nan") << "a number '" << clean_line(text) << "'";
  return text == "nan" ? NAN : text == "inf" ? INFINITY : -INFINITY;
}

class DefinitionReader {
 public:
  Definition read(const Json& j) {
    const Json &inputs = j.at("inputs"), &stages = j.at("stages"), &outputs = j.at("outputs");
    for (const Json& in : inputs) {
      part_ = fmt::format("input {}", out_.inputs.size());
      input(in);
    }
    for (const Json& s : stages) {
      part_ = fmt::format("stage {}", tensors_.size() - out_.inputs.size());
      stage(s);
    }
    for (const Json& o : outputs) {
      part_ = fmt::format("output {}", out_.outputs.size());
      out_.outputs.push_back(tensor(o));
      HONE_USER_CHECK(!out_.outputs.back()->is_placeholder()) << "an output that is an input";
    }
    HONE_USER_CHECK(!out_.outputs.empty()) << "no output";
    return std::move(out_);
  }
  /// The part that is read: `stage 2`.
  const std::string& part() const { return part_; }

 private:
  void input(const Json& j) {
    const auto shape = j.at(2).get<std::vector<int64_t>>();
    HONE_USER_CHECK(!shape.empty() && std::all_of(shape.begin(), shape.end(), [](int64_t n) { return n >= 1; }))
        << "an input with an extent below 1, or without extents";
    element_count(shape);
    const auto& role = j.at(3).get_ref<const std::string&>();
    const bool is_constant = role == name_of(ParamRole::kConstant);
    HONE_USER_CHECK(is_constant || role == name_of(ParamRole::kInput)) << "a role '" << clean_line(role) << "'";
    out_.inputs.emplace_back(
        placeholder(j.at(0).get<std::string>(), shape, parse_dtype(j.at(1).get_ref<const std::string&>())),
        is_constant ? ParamRole::kConstant : ParamRole::kInput);
    tensors_.push_back(out_.inputs.back().first);
  }
  void stage(const Json& j) {
    const std::vector<Axis> axes = axes_from_json(j.at("axes"));
    std::vector<int64_t> shape;
    std::vector<std::string> names;
    for (const Axis& a : axes) shape.push_back(a.extent), names.push_back(a.var->name);
    element_count(shape);
    std::vector<Tensor> reads;
    for (const Json& r : j.at("reads")) reads.push_back(tensor(r));
    const auto body = [&](const std::vector<Expr>& indices) -> Reduction {
      axes_ = indices;
      reduced_.clear();
      const auto& kind = j.value("reduce", std::string());
      const auto* const at = std::find(std::begin(kReductionNames), std::end(kReductionNames), kind);
      HONE_USER_CHECK(at != std::end(kReductionNames)) << "a reduction '" << clean_line(kind) << "'";
      std::vector<Axis> over = kind.empty() ? std::vector<Axis>() : axes_from_json(j.at("over"));
      for (const Axis& a : over) reduced_.push_back(a);
      Expr value = expression(j.at("value"), 0);
      HONE_USER_CHECK(kind.empty() || !value->dtype.is_bool()) << "a reduction of bools";
      return {static_cast<ReduceKind>(at - std::begin(kReductionNames)), std::move(value), std::move(over)};
    };
    const auto name = j.at("name").get<std::string>();
    if (j.contains("scan")) {
      HONE_USER_CHECK(!j.contains("reduce") && !j.contains("inlined")) << "a scan that is a reduction, or inlined";
      const auto first = [&](const std::vector<Expr>& indices) {
        axes_ = indices;
        reduced_.clear();
        return expression(j.at("first"), 0);
      };
      const int64_t along = whole(j.at("scan"));
      HONE_USER_CHECK(along >= 0 && along < std::ssize(shape))
          << "a scan along axis " << along << " of " << shape.size();
      tensors_.push_back(scan(name, shape, names, static_cast<size_t>(along), reads, first,
                              [&](const Expr& previous, const std::vector<Expr>& indices) {
                                axes_ = indices;
                                previous_ = previous;
                                Expr value = expression(j.at("value"), 0);
                                previous_ = nullptr;
                                return value;
                              }));
      return;
    }
    if (!j.value("inlined", false)) {
      tensors_.push_back(compute_reduce(name, shape, names, reads, body));
      if (j.value("compares_bits", false)) tensors_.back() = comparing_bits(tensors_.back());
      return;
    }
    HONE_USER_CHECK(!j.contains("reduce")) << "a reduction that is inlined";
    tensors_.push_back(compute_inlined(name, shape, names, reads, [&](const auto& i) { return body(i).value; }));
  }
  const Tensor& tensor(const Json& j) const {
    const int64_t n = whole(j);
    HONE_USER_CHECK(n >= 0 && n < std::ssize(tensors_))
        << "there is no tensor " << n << " before it; there are 0 to " << std::ssize(tensors_) - 1;
    return tensors_[static_cast<size_t>(n)];
  }
  // 1.5, true and -1 would be 1, 1 and a large number otherwise.
  static int64_t whole(const Json& j) {
    HONE_USER_CHECK(j.is_number_integer() && (!j.is_number_unsigned() || j <= INT64_MAX))
        << clean_line(j.dump(), 40) << " is no whole number";
    return j.get<int64_t>();
  }
  Expr axis(const std::string& text) const {
    const std::vector<Expr>& of = text.starts_with("k") ? reduced_ : axes_;
    size_t n = 0;
    const auto end = std::from_chars(text.data() + std::min<size_t>(1, text.size()), text.data() + text.size(), n);
    const bool is_one = (text.starts_with("i") || text.starts_with("k")) && text.size() > 1 && end.ec == std::errc() &&
                        end.ptr == text.data() + text.size() && n < of.size();
    HONE_USER_CHECK(is_one) << "there is no axis '" << clean_line(text) << "'";
    return of[n];
  }
  Expr expression(const Json& j, int depth) const {
    constexpr int kMostDepth = 2100;
    HONE_USER_CHECK(depth < kMostDepth) << "an expression more than " << kMostDepth << " deep";
    if (j.is_string()) return axis(j.get_ref<const std::string&>());
    const auto& op = j.at(0).get_ref<const std::string&>();
    if (op == "previous") {
      HONE_USER_CHECK(previous_ && j.size() == 1) << "'previous' outside of a scan";
      return previous_;
    }
    if (op == "cast") return cast(scalar(j.at(1)), expression(j.at(2), depth + 1));
    if (op == "[]") return element(j, depth);
    if (j.size() == 2 && (j[1].is_number() || j[1].is_string()) && !is_operator(op)) return constant(j);
    std::vector<Expr> operands;
    for (size_t i = 1; i < j.size(); ++i) operands.push_back(expression(j[i], depth + 1));
    return applied(op, std::move(operands));
  }
  static bool is_operator(const std::string& op) {
    if (op == "not") return true;
    for (int f = 0; f < kIntrinsicCount; ++f)
      if (op == name_of(static_cast<Intrinsic>(f))) return true;
    return false;
  }
  static DType scalar(const Json& j) { return parse_dtype(j.get_ref<const std::string&>()); }
  static Expr constant(const Json& j) {
    const DType t = scalar(j[0]);
    if (t.is_float()) return make_float(number_from_json(j[1]), t);
    return t.is_bool() ? make_bool(j[1].get<int64_t>() != 0) : make_int(j[1].get<int64_t>(), t);
  }
  Expr element(const Json& j, int depth) const {
    const Tensor& t = tensor(j.at(1));
    std::vector<Expr> indices;
    for (size_t i = 2; i < j.size(); ++i) {
      indices.push_back(expression(j[i], depth + 1));
      HONE_USER_CHECK(indices.back()->dtype == kIndex) << "an index of type " << to_string(indices.back()->dtype);
    }
    return t.at(std::move(indices));
  }
  static Expr applied(const std::string& op, std::vector<Expr> operands) {
    const auto check = [&](bool holds) {
      HONE_USER_CHECK(holds) << "'" << clean_line(op) << "' of " << operands.size() << " operands of other types";
    };
    const auto are_alike = [&](size_t from) {
      return std::all_of(operands.begin() + static_cast<ptrdiff_t>(from), operands.end(),
                         [&](const Expr& e) { return e->dtype == operands[from]->dtype; });
    };
    if (op == "not") {
      check(operands.size() == 1 && operands[0]->dtype.is_bool());
      return logical_not(operands[0]);
    }
    if (op == "where") {
      check(operands.size() == 3 && operands[0]->dtype.is_bool() && are_alike(1));
      return select(operands[0], operands[1], operands[2]);
    }
    for (int b = 0; b < kBinaryOpCount; ++b)
      if (const auto o = static_cast<BinaryOp>(b); op == symbol_of(o)) {
        check(operands.size() == 2 && are_alike(0));
        const bool is_logical = o == BinaryOp::kAnd || o == BinaryOp::kOr, is_float = operands[0]->dtype.is_float();
        check(is_logical == operands[0]->dtype.is_bool());
        check(o == BinaryOp::kDiv ? is_float : !is_float || (o != BinaryOp::kFloorDiv && o != BinaryOp::kFloorMod));
        return binary(o, operands[0], operands[1]);
      }
    for (int f = 0; f < kIntrinsicCount; ++f)
      if (const auto function = static_cast<Intrinsic>(f); op == name_of(function)) {
        check(static_cast<int>(operands.size()) == arity_of(function) && are_alike(0) &&
              (function == Intrinsic::kAbs || operands[0]->dtype.is_float()));
        return call(function, std::move(operands));
      }
    throw UserError("there is no operator '" + clean_line(op) + "'");
  }

  Definition out_;
  std::string part_ = "its object of inputs, stages and outputs";
  std::vector<Tensor> tensors_;
  std::vector<Expr> axes_, reduced_;  // of the stage that is read
  Expr previous_;                     // of the scan that is read; else null
};

// Counts the operations of a body; indices are none of them.
class OperationCount final : public Visitor {
 public:
  double count = 0;

 private:
  void visit(const Load*) override {}
  void visit(const Binary* b) override {
    if (b->a->dtype != kIndex) ++count;
    Visitor::visit(b);
  }
  void visit(const Call* c) override {
    ++count;
    Visitor::visit(c);
  }
};

}  // namespace

std::string definition_to_text(const Definition& d) { return DefinitionWriter(d).text(); }

Definition definition_from_text(std::string_view text) {
  DefinitionReader reader;
  try {
    return reader.read(Json::parse(text));
  } catch (const Json::parse_error& e) {
    throw UserError(fmt::format("definition: its text is no JSON, from character {} on", e.byte));
  } catch (const Json::exception&) {
    throw UserError("definition: " + reader.part() +
                    " is not written as definitions are (hone.save_operators writes them)");
  } catch (const UserError& e) {
    throw UserError("definition: " + reader.part() + ": " + e.what());
  }
}

double operations_of(const Definition& d) {
  double sum = 0, elements = 0;
  for (const TensorNode* t : stages_of(d)) {
    double iterations = 1;
    for (const auto* axes : {&t->axes, &t->reduce_axes})
      for (const Axis& a : *axes) iterations *= static_cast<double>(a.extent);
    OperationCount of_body;
    of_body(t->body);
    sum += iterations * (of_body.count + (t->reduce != ReduceKind::kNone ? 1 : 0));
    elements += static_cast<double>(element_count(t->shape));
  }
  return sum > 0 ? sum : elements;
}

}  // namespace hone
