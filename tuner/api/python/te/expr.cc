#include "tuner/api/python/te/expr.h"

#include <absl/strings/str_join.h>
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "compiler/ir/layout.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/visitor.h"
#include "compiler/ops/functions/functions.h"
#include "tuner/api/python/whole_objects.h"

namespace hone::python {
namespace py = pybind11;

void add_reads(std::vector<Tensor>* to, const std::vector<Tensor>& more) {
  for (const Tensor& t : more)
    if (std::none_of(to->begin(), to->end(), [&](const Tensor& u) { return u.node().same_as(t.node()); }))
      to->push_back(t);
}

PyExpr made_of(Expr expr, std::initializer_list<const PyExpr*> operands) {
  PyExpr out{std::move(expr)};
  for (const PyExpr* o : operands) {
    add_reads(&out.reads, o->reads);
    out.depth = std::max(out.depth, o->depth + 1);
    out.nodes += o->nodes;
  }
  if (out.depth > kMostDepth || out.nodes > kMostNodes)
    throw py::value_error("an expression of " + std::to_string(out.nodes) + " operations, " +
                          std::to_string(out.depth) + " deep; at most " + std::to_string(kMostNodes) + " and " +
                          std::to_string(kMostDepth) + ": make a stage of a part of it");
  return out;
}

namespace {

// A number of Python's as a constant of a type.
Expr constant(const py::handle& value, DType t) {
  if (t.is_bool()) return make_bool(value.cast<bool>());
  if (t.is_float()) return make_float(value.cast<double>(), t);
  if (!PyLong_Check(value.ptr()))
    throw py::type_error(py::repr(value).cast<std::string>() + " is no " + numpy_name(t) + "; use astype()");
  const int64_t number = value.cast<int64_t>();
  const bool is_signed = t.code == TypeCode::kInt;
  const int64_t least = !is_signed ? 0 : t.bits == 64 ? INT64_MIN : -(int64_t{1} << (t.bits - 1));
  const int64_t most = t.bits == 64 ? INT64_MAX : (int64_t{1} << (is_signed ? t.bits - 1 : t.bits)) - 1;
  if (number < least || number > most) throw py::value_error(std::to_string(number) + " is no " + numpy_name(t));
  return make_int(number, t);
}

bool is_number(const py::handle& x) {
  return PyLong_Check(x.ptr()) || PyFloat_Check(x.ptr()) || py::hasattr(x, "__index__") || py::hasattr(x, "__float__");
}

std::optional<PyExpr> as_expr(const py::handle& x) {
  if (py::isinstance<PyExpr>(x)) return x.cast<PyExpr>();
  if (py::isinstance<PyAxis>(x)) return PyExpr{x.cast<PyAxis&>().axis};
  return std::nullopt;
}

[[noreturn]] void no_operand(const py::handle& x) {
  const std::string type = py::str(py::type::of(x).attr("__name__"));
  if (py::isinstance<PyTensor>(x)) throw py::type_error("a tensor is no expression: index it, t[i, j]");
  if (py::isinstance<PyReduction>(x))
    throw py::type_error("a reduction stands alone in compute(): use a stage behind it");
  throw py::type_error("an expression is made of elements, axes and numbers, not of " + type);
}

// Both of one type: a number has that of the other.
std::pair<PyExpr, PyExpr> operands(const py::handle& a, const py::handle& b) {
  std::optional<PyExpr> x = as_expr(a), y = as_expr(b);
  if (!x && !y) no_operand(is_number(a) ? b : a);
  if (!x) {
    if (!is_number(a)) no_operand(a);
    x = PyExpr{constant(a, y->expr->dtype)};
  }
  if (!y) {
    if (!is_number(b)) no_operand(b);
    y = PyExpr{constant(b, x->expr->dtype)};
  }
  if (x->expr->dtype != y->expr->dtype)
    throw py::type_error(numpy_name(x->expr->dtype) + " and " + numpy_name(y->expr->dtype) +
                         " in one expression; use astype()");
  return {*x, *y};
}

}  // namespace

PyExpr alone(const py::handle& x, std::optional<DType> number) {
  if (const auto e = as_expr(x)) return *e;
  if (!number || !is_number(x)) no_operand(x);
  return {constant(x, *number)};
}

namespace {

using Make = Expr (*)(Expr, Expr);

PyExpr combined(const py::handle& a, const py::handle& b, Make make, bool numbers_only = true) {
  auto [x, y] = operands(a, b);
  if (numbers_only && x.expr->dtype.is_bool()) throw py::type_error("bools are combined by &, | and ~");
  return made_of(make(x.expr, y.expr), {&x, &y});
}

PyExpr logical(const py::handle& a, const py::handle& b, Make make) {
  auto [x, y] = operands(a, b);
  if (!x.expr->dtype.is_bool()) throw py::type_error("& and | combine bools, not " + numpy_name(x.expr->dtype));
  return made_of(make(x.expr, y.expr), {&x, &y});
}

PyExpr divided(const py::handle& a, const py::handle& b) {
  auto [x, y] = operands(a, b);
  if (!x.expr->dtype.is_float())
    throw py::type_error("/ divides floats; // and % are for " + numpy_name(x.expr->dtype));
  return made_of(x.expr / y.expr, {&x, &y});
}

PyExpr whole(const py::handle& a, const py::handle& b, Make make) {
  auto [x, y] = operands(a, b);
  if (!x.expr->dtype.is_integer())
    throw py::type_error("// and % are for whole numbers, not " + numpy_name(x.expr->dtype));
  if (as_const_int(y.expr) == 0) throw py::value_error("a division by 0");
  return made_of(make(x.expr, y.expr), {&x, &y});
}

PyExpr function(const py::handle& x, Intrinsic f) {
  PyExpr e = alone(x);
  if (!e.expr->dtype.is_float() && f != Intrinsic::kAbs)
    throw py::type_error(std::string(name_of(f)) + "() is of floats, not of " + numpy_name(e.expr->dtype));
  return made_of(call(f, {e.expr}), {&e});
}

// A row of the table that chains of operators have (compiler/ops/functions), of x and its arguments; those that are
// numbers have the type of the first that is none.
PyExpr row_applied(const ScalarFunction& row, const py::handle& x, const py::args& more) {
  std::vector<py::object> given{py::reinterpret_borrow<py::object>(x)};
  for (const py::handle a : more) given.push_back(py::reinterpret_borrow<py::object>(a));
  if (given.size() == 1)
    for (const double number : row.defaults) given.emplace_back(py::float_(number));
  if (given.size() != row.arguments.size() + 1)
    throw py::type_error(row.name + "() of " + std::to_string(given.size()) + " values; it takes " +
                         std::to_string(row.arguments.size() + 1));
  std::optional<DType> type;
  for (size_t i = 0; i < given.size() && !type; ++i)
    if (const auto known = as_expr(given[i])) type = known->expr->dtype;
  if (!type) no_operand(given[0]);
  if (!row.takes(*type)) throw py::type_error(row.name + "() is not of " + numpy_name(*type));
  const std::optional<DType> numbers = is_wide(row, *type) ? f32 : type;
  std::vector<PyExpr> operands;
  for (size_t i = 0; i < given.size(); ++i) {
    if (i > 0 && row.arguments[i - 1] == ArgumentKind::kNumber && !is_number(given[i]))
      throw py::type_error(row.name + "(): its argument " + std::to_string(i) + " is a number");
    const bool is_typed = as_expr(given[i]).has_value();
    operands.push_back(alone(given[i], numbers));
    if (is_typed && operands.back().expr->dtype != *type)
      throw py::type_error(numpy_name(*type) + " and " + numpy_name(operands.back().expr->dtype) +
                           " in one expression; use astype()");
  }
  std::vector<Expr> arguments;
  PyExpr out;
  for (const PyExpr& o : operands) {
    arguments.push_back(o.expr);
    out = made_of(nullptr, {&out, &o});
  }
  out.expr = applied(row, arguments, *type);
  out.depth += row.operations;
  struct Count : Visitor {
    int64_t nodes = 0;
    void visit(const Binary* b) override { ++nodes, Visitor::visit(b); }
    void visit(const Select* s) override { ++nodes, Visitor::visit(s); }
    void visit(const Call* c) override { ++nodes, Visitor::visit(c); }
    void visit(const Load* l) override { ++nodes, Visitor::visit(l); }
  } count;
  count(out.expr);  // an argument may be used several times
  out.nodes = std::max(out.nodes, count.nodes);
  return made_of(out.expr, {&out});
}

// Those that Python has no operator for, and that are not bound by themselves. Codes of narrow floats are left out.
bool is_bound_as_row(const ScalarFunction& row) {
  static constexpr std::string_view kOthers[] = {
      "exp",     "log",           "sqrt", "tanh",    "abs",     "erf",   "round",     "sin",  "cos",
      "atan",    "neg",           "add",  "sub",     "mul",     "div",   "max",       "min",  "rsub",
      "rdiv",    "rpow",          "mod",  "maximum", "minimum", "equal", "not_equal", "less", "less_equal",
      "greater", "greater_equal", "and",  "or",      "not",     "where"};
  const bool is_code = row.name.size() > 1 && row.name[0] == 'e' && row.name[1] >= '0' && row.name[1] <= '9';
  return !row.needs_result && !is_code &&
         std::find(std::begin(kOthers), std::end(kOthers), row.name) == std::end(kOthers);
}

PyExpr where(const py::handle& condition, const py::handle& a, const py::handle& b) {
  PyExpr c = alone(condition);
  if (!c.expr->dtype.is_bool()) throw py::type_error("where() chooses by a bool, not by " + numpy_name(c.expr->dtype));
  // Two numbers have no operand to take a type from.
  const bool are_whole = PyLong_Check(a.ptr()) && PyLong_Check(b.ptr());
  auto [x, y] = is_number(a) && is_number(b) ? operands(py::cast(alone(a, are_whole ? i32 : f32)), b) : operands(a, b);
  return made_of(select(c.expr, x.expr, y.expr), {&c, &x, &y});
}

}  // namespace

DType dtype_named(const std::string& name) {
  static const std::pair<const char*, DType> table[] = {
      {"float16", f16}, {"bfloat16", bf16}, {"float32", f32}, {"float64", f64}, {"int8", i8},    {"int16", i16},
      {"int32", i32},   {"int64", i64},     {"uint8", u8},    {"uint16", u16},  {"uint32", u32}, {"uint64", u64}};
  for (const auto& [known, type] : table)
    if (name == known) return type;
  return parse_dtype(name);
}

std::string numpy_name(DType t) {
  if (t.is_bool()) return "bool";
  const char* const kind = t.code == TypeCode::kBFloat ? "bfloat"
                           : t.is_float()              ? "float"
                           : t.code == TypeCode::kInt  ? "int"
                                                       : "uint";
  return kind + std::to_string(t.bits);
}

void bind_expressions(py::module_& m) {
  const auto both = [](auto f) { return [f](const py::object& a, const py::object& b) { return f(a, b); }; };
  const auto reversed = [](auto f) { return [f](const py::object& a, const py::object& b) { return f(b, a); }; };
  const auto add = [](const py::handle& a, const py::handle& b) {
    return combined(a, b, [](Expr x, Expr y) { return x + y; });
  };
  const auto sub = [](const py::handle& a, const py::handle& b) {
    return combined(a, b, [](Expr x, Expr y) { return x - y; });
  };
  const auto mul = [](const py::handle& a, const py::handle& b) {
    return combined(a, b, [](Expr x, Expr y) { return x * y; });
  };
  const auto floordiv = [](const py::handle& a, const py::handle& b) {
    return whole(a, b, [](Expr x, Expr y) { return floor_div(std::move(x), std::move(y)); });
  };
  const auto mod = [](const py::handle& a, const py::handle& b) {
    return whole(a, b, [](Expr x, Expr y) { return floor_mod(std::move(x), std::move(y)); });
  };
  const auto conjunction = [](const py::handle& a, const py::handle& b) { return logical(a, b, &logical_and); };
  const auto disjunction = [](const py::handle& a, const py::handle& b) { return logical(a, b, &logical_or); };
  const auto compared = [](Make make) {
    return [make](const py::object& a, const py::object& b) { return combined(a, b, make); };
  };
  const auto with_operators = [&](auto& c) {
    c.def("__add__", both(add)).def("__radd__", reversed(add)).def("__sub__", both(sub)).def("__rsub__", reversed(sub));
    c.def("__mul__", both(mul)).def("__rmul__", reversed(mul));
    c.def("__truediv__", both(&divided)).def("__rtruediv__", reversed(&divided));
    c.def("__floordiv__", both(floordiv)).def("__rfloordiv__", reversed(floordiv));
    c.def("__mod__", both(mod)).def("__rmod__", reversed(mod));
    c.def("__and__", both(conjunction)).def("__or__", both(disjunction));
    c.def("__invert__", [](const py::object& a) {
      const PyExpr e = alone(a);
      if (!e.expr->dtype.is_bool()) throw py::type_error("~ is of bools, not of " + numpy_name(e.expr->dtype));
      return made_of(logical_not(e.expr), {&e});
    });
    c.def("__neg__", [](const py::object& a) {
      const PyExpr e = alone(a);
      const DType t = e.expr->dtype;
      // 0 - 0 is no -0.
      return made_of((t.is_float() ? make_float(-0.0, t) : make_const(0, t)) - e.expr, {&e});
    });
    c.def("__eq__", compared([](Expr x, Expr y) { return eq(std::move(x), std::move(y)); }));
    c.def("__ne__", compared([](Expr x, Expr y) { return ne(std::move(x), std::move(y)); }));
    c.def("__lt__", compared([](Expr x, Expr y) { return lt(std::move(x), std::move(y)); }));
    c.def("__le__", compared([](Expr x, Expr y) { return le(std::move(x), std::move(y)); }));
    c.def("__gt__", compared([](Expr x, Expr y) { return lt(std::move(y), std::move(x)); }));
    c.def("__ge__", compared([](Expr x, Expr y) { return le(std::move(y), std::move(x)); }));
    c.def("__hash__", [](const py::object& self) { return reinterpret_cast<intptr_t>(self.ptr()) >> 4; });
    c.def("__bool__", [](const py::object&) -> bool {
      throw py::type_error("an expression is not known to be true or false: use te.where(), & and |");
    });
    c.def("astype", [](const py::object& a, const py::object& given) {
      const PyExpr e = alone(a);
      const bool is_name = py::isinstance<py::str>(given);
      const auto type =
          py::str(is_name ? given : py::module_::import("numpy").attr("dtype")(given).attr("name")).cast<std::string>();
      return made_of(cast(dtype_named(type), e.expr), {&e});
    });
    c.def_property_readonly(
        "dtype", [](const py::object& a) { return numpy_name(alone(a).expr->dtype); }, "Its type, as numpy calls it.");
  };
  py::class_<PyExpr> expr(m, "Expr",
                          "A number or a bool that a body computes. Operators take others of its type, and numbers.");
  with_operators(expr);
  expr.def("__repr__", [](const PyExpr& e) { return to_string(e.expr); });
  py::class_<PyAxis> axis(m, "Axis", "A loop's variable: an index, and a whole number in expressions.");
  with_operators(axis);
  axis.def_property_readonly(
          "name", [](const PyAxis& a) { return a.axis.var->name; }, "Its name in the program's text.")
      .def_property_readonly(
          "extent", [](const PyAxis& a) { return a.axis.extent; }, "Its iterations.")
      .def("__repr__",
           [](const PyAxis& a) { return "<te.Axis " + a.axis.var->name + ": " + std::to_string(a.axis.extent) + ">"; });
  for (const py::handle& bound : {py::handle(expr), py::handle(axis)}) make_only_whole(bound);

  m.def("maximum", compared([](Expr x, Expr y) { return max(std::move(x), std::move(y)); }), py::arg("a"),
        py::arg("b"));
  m.def("minimum", compared([](Expr x, Expr y) { return min(std::move(x), std::move(y)); }), py::arg("a"),
        py::arg("b"));
  m.def(
      "where", [](const py::object& c, const py::object& a, const py::object& b) { return where(c, a, b); },
      py::arg("condition"), py::arg("a"), py::arg("b"));
  for (const Intrinsic f : {Intrinsic::kExp, Intrinsic::kLog, Intrinsic::kSqrt, Intrinsic::kTanh, Intrinsic::kAbs,
                            Intrinsic::kErf, Intrinsic::kRint, Intrinsic::kSin, Intrinsic::kCos, Intrinsic::kAtan})
    m.def(
        std::string(name_of(f)).c_str(), [f](const py::object& x) { return function(x, f); }, py::arg("x"));
  const FunctionTable functions = standard_functions();
  for (const auto& row : functions.rows())
    if (is_bound_as_row(*row))
      m.def(
          row->name.c_str(), [row](const py::object& x, const py::args& more) { return row_applied(*row, x, more); },
          py::arg("x"));
}

}  // namespace hone::python
