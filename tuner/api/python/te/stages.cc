#include "tuner/api/python/te/stages.h"

#include <absl/strings/str_join.h>
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <functional>

#include "compiler/ir/layout.h"
#include "compiler/ir/mutator.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/visitor.h"
#include "compiler/te/sizes.h"
#include "tuner/api/python/te/references.h"
#include "tuner/api/python/whole_objects.h"

namespace hone::python {
namespace {

namespace py = pybind11;

// ---- extents ----

// An extent that is a number, or an expression of named sizes, for which 1 stands until they have numbers.
struct Extent {
  int64_t number = 1;
  Expr written;
  bool is_open = false;
};

class OnlySizes final : public Visitor {
 public:
  bool holds = true;

 protected:
  using Visitor::visit;
  void visit(const VarNode* v) override { holds &= is_size(v); }
  void visit(const Load*) override { holds = false; }
};

bool uses_sizes(const Expr& e) {
  class Finder final : public Visitor {
   public:
    bool found = false;

   protected:
    using Visitor::visit;
    void visit(const VarNode* v) override { found |= is_size(v); }
  } finder;
  finder(e);
  return finder.found;
}

// `of`: what has the extent, for errors.
Extent extent_of(const py::handle& given, const std::string& of) {
  if (py::isinstance<PyExpr>(given)) {
    const Expr e = given.cast<PyExpr>().expr;
    OnlySizes only;
    only(e);
    if (!only.holds || e->dtype != kIndex)
      throw py::type_error(of + ": an extent is made of numbers and sizes, not " + to_string(e));
    if (!as_const_int(e)) return {1, e, true};
    return {*as_const_int(e), e, false};
  }
  if (!py::hasattr(given, "__index__") || py::isinstance<py::bool_>(given))
    throw py::type_error(of + ": an extent is a whole number or a size, not " + type_name(given));
  int64_t number = 0;
  try {
    number = py::int_(given.attr("__index__")()).cast<int64_t>();
  } catch (const py::cast_error&) {
    throw py::value_error(of + ": an extent is too large");
  } catch (const py::error_already_set&) {
    throw py::value_error(of + ": an extent is too large");
  }
  if (number < 0) throw py::value_error(of + ": an extent of " + std::to_string(number));
  return {number, make_int(number), false};
}

std::vector<Extent> extents_of(const py::object& given, const std::string& of) {
  std::vector<Extent> out;
  for (const py::handle e : given) out.push_back(extent_of(e, of));
  return out;
}

std::vector<int64_t> numbers_of(const std::vector<Extent>& extents) {
  std::vector<int64_t> out;
  for (const Extent& e : extents) out.push_back(e.number);
  return out;
}

// pybind11 takes bytes for std::string, too, which may be no UTF-8.
std::string name_from(const py::object& name) {
  if (!py::isinstance<py::str>(name)) throw py::type_error("a name is a str, not " + type_name(name));
  return name.cast<std::string>();
}

// ---- stages ----

// A stage as it is found: what it reads and which extents are open is known when its body is.
struct Draft {
  Tensor probe;
  std::vector<Tensor> reads;
  std::vector<Expr> written;  // extents, of dimensions and then of reduction axes
};

Tensor finished(const Draft& d) {
  TensorNode* node = copied_node(*d.probe.node());
  const Ref<const TensorNode> owner(node);
  node->inputs.clear();
  for (const Tensor& t : d.reads) node->inputs.push_back(t.node());
  const bool is_open = std::any_of(d.written.begin(), d.written.end(), &uses_sizes);
  if (is_open) node->written_extents = d.written;
  node->is_open = is_open || uses_sizes(node->body);
  return Tensor(owner);
}

// An expression that is the same bits wherever it is computed.
bool is_exact(const Expr& e) {
  class Rounding final : public Visitor {
   public:
    bool found = false;

   protected:
    using Visitor::visit;
    void visit(const Binary* b) override {
      found |= b->dtype.is_float() && b->op != BinaryOp::kMin && b->op != BinaryOp::kMax;
      Visitor::visit(b);
    }
    void visit(const Call* c) override { found |= c->dtype.is_float(); }
  } rounding;
  rounding(e);
  return !rounding.found;
}

// Axes of the same names and extents, and what stands for the old ones.
std::vector<Axis> renewed(const std::vector<Axis>& axes, VarMap* map) {
  std::vector<Axis> out;
  for (const Axis& a : axes) {
    out.push_back({Var(a.var->name), a.extent});
    map->emplace_back(a.var.get(), Expr(out.back().var));
  }
  return out;
}

std::vector<Expr> indices_of(const std::vector<Axis>& axes) {
  std::vector<Expr> out;
  for (const Axis& a : axes) out.emplace_back(a.var);
  return out;
}

// A stage of given axes.
Draft drafted(const std::string& name, const std::vector<Axis>& axes, const Reduction& r, std::vector<Tensor> reads,
              std::vector<Expr> written) {
  auto* node = new TensorNode;
  const Tensor probe{Ref<const TensorNode>(node)};
  node->name = name;
  node->axes = axes;
  for (const Axis& a : axes) node->shape.push_back(a.extent);
  node->reduce = r.kind;
  node->reduce_axes = r.axes;
  node->body = r.value;
  node->buffer = make_buffer(name, r.value->dtype, node->shape, BufferScope::kWorkspace);
  return {probe, std::move(reads), std::move(written)};
}

// The place of the first extreme along an axis, by two reductions: NAME_max, and the least index whose element is it.
// With a NaN nothing compares: the first of these is the place, as numpy has it. An element that is computed becomes
// a stage NAME_of, so that both see the same bits.
Tensor place_of(const Draft& d, const PyReduction& r) {
  const TensorNode& t = *d.probe.node();
  const bool is_most = r.place == Place::kOfMost;
  const Axis along = t.reduce_axes[0];
  std::vector<Axis> all = t.axes;
  all.push_back(along);
  std::vector<Tensor> reads = d.reads;
  Expr element = t.body;
  if (!is_exact(element)) {
    VarMap map;
    const std::vector<Axis> axes = renewed(all, &map);
    const Tensor kept =
        finished(drafted(t.name + "_of", axes, {ReduceKind::kNone, substitute(element, map), {}}, reads, d.written));
    reads = {kept};
    element = kept.at(indices_of(all));
  }
  VarMap map;
  const std::vector<Axis> axes = renewed(all, &map);
  const Tensor extreme = finished(drafted(
      t.name + (is_most ? "_max" : "_min"), {axes.begin(), axes.end() - 1},
      {is_most ? ReduceKind::kMax : ReduceKind::kMin, substitute(element, map), {axes.back()}}, reads, d.written));
  add_reads(&reads, {extreme});
  const Expr best = extreme.at(indices_of(t.axes));
  const Expr is_best = is_most ? le(best, element) : le(element, best);
  const Expr is_found = element->dtype.is_float() ? logical_or(is_best, ne(element, element)) : is_best;
  const Expr place = select(is_found, cast(r.place_type, along.var), cast(r.place_type, d.written.back()));
  return comparing_bits(finished(drafted(t.name, t.axes, {ReduceKind::kMin, place, {along}}, reads, d.written)));
}

std::vector<Expr> written_of(const std::vector<Extent>& extents) {
  std::vector<Expr> out;
  for (const Extent& e : extents) out.push_back(e.written);
  return out;
}

py::tuple as_arguments(const std::vector<Expr>& indices) {
  py::tuple out(indices.size());
  for (size_t i = 0; i < indices.size(); ++i) out[i] = py::cast(PyExpr{indices[i]});
  return out;
}

PyTensor compute_py(const py::object& given, const py::object& shape, const std::vector<std::string>& names,
                    const py::function& body) {
  const std::string name = name_from(given);
  const std::vector<Extent> extents = extents_of(shape, "compute '" + name + "'");
  element_count(numbers_of(extents));
  Draft draft{{}, {}, written_of(extents)};
  PyReduction reduction;
  draft.probe = compute_reduce(name, numbers_of(extents), names, {}, [&](const std::vector<Expr>& indices) {
    const py::object value = body(*as_arguments(indices));
    if (py::isinstance<PyReduction>(value)) {
      reduction = value.cast<PyReduction&>();
      draft.reads = reduction.reads;
      draft.written.insert(draft.written.end(), reduction.written.begin(), reduction.written.end());
      return reduction.reduction;
    }
    const PyExpr e = alone(value, f32);
    draft.reads = e.reads;
    return Reduction{ReduceKind::kNone, e.expr, {}};
  });
  return {reduction.place == Place::kNone ? finished(draft) : place_of(draft, reduction)};
}

PyTensor scan_py(const py::object& given, const py::object& shape, const std::vector<std::string>& names, int64_t axis,
                 const py::object& init, const std::string& type, const py::function& update) {
  const std::string name = name_from(given);
  const std::vector<Extent> extents = extents_of(shape, "scan '" + name + "'");
  element_count(numbers_of(extents));
  const auto rank = std::ssize(extents);
  if (axis < -rank || axis >= rank)
    throw py::value_error("scan '" + name + "': there is no axis " + std::to_string(axis) + " of " +
                          std::to_string(rank));
  const auto along = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  Draft draft{{}, {}, written_of(extents)};
  const auto first = [&](const std::vector<Expr>& indices) {
    py::object value = init;
    if (py::isinstance<py::function>(init)) {
      std::vector<Expr> others = indices;
      others.erase(others.begin() + static_cast<ptrdiff_t>(along));
      value = init(*as_arguments(others));
    }
    const PyExpr e = alone(value, dtype_named(type));
    add_reads(&draft.reads, e.reads);
    return e.expr;
  };
  const auto next = [&](const Expr& previous, const std::vector<Expr>& indices) {
    const py::object value = update(*(py::make_tuple(py::cast(PyExpr{previous})) + as_arguments(indices)));
    if (py::isinstance<PyReduction>(value))
      throw py::type_error("scan '" + name + "': a reduction is a stage of its own, which the scan reads");
    const PyExpr e = alone(value, previous->dtype);
    add_reads(&draft.reads, e.reads);
    return e.expr;
  };
  draft.probe = scan(name, numbers_of(extents), names, along, {}, first, next);
  return {finished(draft)};
}

std::vector<PyAxis> axes_of(const py::object& axis) {
  if (py::isinstance<PyAxis>(axis)) return {axis.cast<PyAxis&>()};
  std::vector<PyAxis> out;
  for (const py::handle a : axis) {
    if (!py::isinstance<PyAxis>(a)) throw py::type_error("axis: of reduce_axis(), or a list of these");
    out.push_back(a.cast<PyAxis&>());
  }
  if (out.empty()) throw py::value_error("a reduction over no axis");
  for (size_t i = 0; i < out.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (out[i].axis.var.same_as(out[j].axis.var))
        throw py::value_error("axis '" + out[i].axis.var->name + "' is there twice");
  return out;
}

PyReduction reduced(const py::handle& value, const py::object& axis, Reduction (*make)(Expr, std::vector<Axis>)) {
  const PyExpr e = alone(value);
  if (e.expr->dtype.is_bool()) throw py::type_error("a reduction of bools; use astype()");
  PyReduction out;
  std::vector<Axis> axes;
  for (const PyAxis& a : axes_of(axis)) {
    axes.push_back(a.axis);
    out.written.push_back(a.written ? a.written : make_int(a.axis.extent));
  }
  out.reduction = make(e.expr, std::move(axes));
  out.reads = e.reads;
  return out;
}

PyReduction placed(const py::handle& value, const py::object& axis, const std::string& type, Place place) {
  PyReduction out = reduced(value, axis, place == Place::kOfMost ? &max_over : &min_over);
  const char* const name = place == Place::kOfMost ? "argmax" : "argmin";
  if (out.reduction.axes.size() != 1)
    throw py::value_error(std::string(name) + ": over one axis; several are one dimension by a stage before");
  out.place = place;
  out.place_type = dtype_named(type);
  if (out.place_type != i32 && out.place_type != i64)
    throw py::type_error(std::string(name) + ": places are int64 or int32, not " + type);
  return out;
}

// ---- texts ----

// `float32[m, 64]`
std::string type_text(const TensorNode& t) {
  const std::vector<std::string> written = written_shape(t);
  const std::string shape = written.empty() ? absl::StrJoin(t.shape, ", ") : absl::StrJoin(written, ", ");
  return numpy_name(t.buffer->dtype) + "[" + shape + "]";
}

std::string body_text(const TensorNode& t) {
  if (t.scan_axis) {
    // The element before, as the scan's function is given it.
    class Previous final : public Mutator {
     public:
      explicit Previous(const TensorNode& t) : t_(t) {}
      const Select* found = nullptr;

     protected:
      using Mutator::visit;
      Expr visit(const Select* s) override {
        if (!previous_of(t_, Expr(s))) return Mutator::visit(s);
        found = s;
        return Var("previous", s->dtype);
      }

     private:
      const TensorNode& t_;
    } previous(t);
    const std::string text = to_string(previous(t.body));
    return "scan(" + text + ", init=" + (previous.found ? to_string(previous.found->on_false) : "unused") +
           ", axis=" + t.axes[*t.scan_axis].var->name + ")";
  }
  if (t.reduce == ReduceKind::kNone) return to_string(t.body);
  const char* const name = t.reduce == ReduceKind::kSum ? "sum" : t.reduce == ReduceKind::kMax ? "max" : "min";
  std::string axes;
  for (size_t a = 0; a < t.reduce_axes.size(); ++a) {
    const std::string extent = t.written_extents.empty() ? std::to_string(t.reduce_axes[a].extent)
                                                         : to_string(t.written_extents[t.shape.size() + a]);
    axes += ", " + t.reduce_axes[a].var->name + " < " + extent;
  }
  return name + ("(" + to_string(t.body)) + axes + ")";
}

std::string described(const PyTensor& t) {
  const TensorNode& n = *t.tensor.node();
  return "<te.Tensor " + n.name + ": " + type_text(n) + (n.is_placeholder() ? "" : " = " + body_text(n)) + ">";
}

// The definition of a tensor: what it is made of, a line each.
std::string definition_text_of(const PyTensor& t) {
  std::string out;
  std::vector<const TensorNode*> seen;
  const std::function<void(const TensorNode&)> tell = [&](const TensorNode& n) {
    if (std::find(seen.begin(), seen.end(), &n) != seen.end()) return;
    seen.push_back(&n);
    for (const auto& in : n.inputs) tell(*in);
    out += (out.empty() ? "" : "\n") + n.name + ": " + type_text(n);
    if (n.is_placeholder()) return;
    out += "\n" + n.name + "[" +
           absl::StrJoin(n.axes, ", ", [](std::string* to, const Axis& a) { *to += a.var->name; }) +
           "] = " + body_text(n);
  };
  tell(*t.tensor.node());
  return out;
}

py::tuple shape_of(const PyTensor& t) {
  const TensorNode& n = *t.tensor.node();
  py::tuple out(n.shape.size());
  for (size_t d = 0; d < n.shape.size(); ++d) {
    const bool is_open = n.is_open && !n.written_extents.empty() && !as_const_int(n.written_extents[d]);
    out[d] = is_open ? py::cast(PyExpr{n.written_extents[d]}) : py::object(py::int_(n.shape[d]));
  }
  return out;
}

// Bounds stand outside, where proofs look for them.
Expr as_index(const Expr& e) {
  const auto* b = as<Binary>(e);
  if (b && (b->op == BinaryOp::kMin || b->op == BinaryOp::kMax)) return binary(b->op, as_index(b->a), as_index(b->b));
  if (const auto number = as_const_int(e)) return make_int(*number);
  return cast(kIndex, e);
}

PyExpr element(const PyTensor& t, const py::object& at) {
  std::vector<Expr> indices;
  PyExpr out;
  const py::tuple all = py::isinstance<py::tuple>(at) ? py::reinterpret_borrow<py::tuple>(at) : py::make_tuple(at);
  for (const py::handle i : all) {
    PyExpr index = alone(i, kIndex);
    if (!index.expr->dtype.is_integer())
      throw py::type_error("an index is a whole number, not " + numpy_name(index.expr->dtype));
    indices.push_back(as_index(index.expr));
    out = made_of(nullptr, {&out, &index});
  }
  out.expr = t.tensor.at(std::move(indices));
  add_reads(&out.reads, {t.tensor});
  return out;
}

PyTensor placeholder_py(const py::object& given, const py::object& shape, const std::string& type, bool is_constant) {
  const std::string name = name_from(given);
  const std::vector<Extent> extents = extents_of(shape, "placeholder '" + name + "'");
  if (extents.empty()) throw py::value_error("a placeholder has a dimension at least");
  for (const Extent& e : extents)
    if (e.number < 1) throw py::value_error("placeholder '" + name + "': an extent of " + std::to_string(e.number));
  element_count(numbers_of(extents));
  TensorNode* node = copied_node(*placeholder(name, numbers_of(extents), dtype_named(type)).node());
  const Ref<const TensorNode> owner(node);
  node->is_open = std::any_of(extents.begin(), extents.end(), [](const Extent& e) { return e.is_open; });
  if (node->is_open) node->written_extents = written_of(extents);
  return {Tensor(owner), is_constant};
}

PyAxis reduce_axis_py(const py::object& given, const py::object& extent) {
  const std::string name = name_from(given);
  const Extent e = extent_of(extent, "axis '" + name + "'");
  if (e.number < 1) throw py::value_error("axis '" + name + "': an extent of " + std::to_string(e.number));
  return {reduce_axis(name, e.number), e.is_open ? e.written : nullptr};
}

}  // namespace

std::vector<std::string> written_shape(const TensorNode& t) {
  std::vector<std::string> out;
  if (t.written_extents.empty()) return out;
  for (size_t d = 0; d < t.shape.size(); ++d) out.push_back(to_string(t.written_extents[d]));
  return out;
}

void bind_stages(py::module_& m) {
  py::class_<PyReduction> reduction(m, "Reduction",
                                    "The result of sum(), max() and min() over an axis: all of what a body computes.");
  py::class_<PyTensor> tensor(m, "Tensor",
                              "The result of placeholder(), compute() and scan(). ``t[i, j]`` is an element of it, for "
                              "bodies; ``print(t)`` shows its definition.");
  tensor.def("__getitem__", &element)
      .def("__repr__", &described)
      .def("__str__", &definition_text_of)
      .def("__iter__",
           [](const PyTensor&) -> py::object { throw py::type_error("a tensor of te has no elements yet"); })
      .def_property_readonly(
          "name", [](const PyTensor& t) { return t.tensor->name; }, "Its name in the program's text.")
      .def_property_readonly(
          "dtype", [](const PyTensor& t) { return numpy_name(t.tensor->buffer->dtype); },
          "Its elements' type, as numpy calls it.")
      .def_property_readonly("shape", &shape_of, "Its extents: numbers, and expressions of named sizes.");
  for (const py::handle& bound : {py::handle(reduction), py::handle(tensor)}) make_only_whole(bound);
  m.def(
      "size", [](const std::string& name) { return PyExpr{size_named(name)}; }, py::arg("name"));
  m.def("placeholder", &placeholder_py, py::arg("name"), py::arg("shape"), py::arg("dtype"), py::arg("constant"));
  m.def("reduce_axis", &reduce_axis_py, py::arg("name"), py::arg("extent"));
  m.def("compute", &compute_py, py::arg("name"), py::arg("shape"), py::arg("axes"), py::arg("body"));
  m.def("scan", &scan_py, py::arg("name"), py::arg("shape"), py::arg("axes"), py::arg("axis"), py::arg("init"),
        py::arg("dtype"), py::arg("update"));
  const auto reduction_of = [&](const char* name, Reduction (*make)(Expr, std::vector<Axis>)) {
    m.def(
        name, [make](const py::object& x, const py::object& axis) { return reduced(x, axis, make); }, py::arg("value"),
        py::arg("axis"));
  };
  reduction_of("sum", &sum);
  reduction_of("max", &max_over);
  reduction_of("min", &min_over);
  const auto place_in = [&](const char* name, Place place) {
    m.def(
        name,
        [place](const py::object& x, const py::object& axis, const std::string& type) {
          return placed(x, axis, type, place);
        },
        py::arg("value"), py::arg("axis"), py::arg("dtype"));
  };
  place_in("argmax", Place::kOfMost);
  place_in("argmin", Place::kOfLeast);
}

}  // namespace hone::python
