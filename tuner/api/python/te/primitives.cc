#include "tuner/api/python/te/primitives.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "compiler/schedule/primitive_table.h"
#include "tuner/api/python/te/references.h"

namespace hone::python {
namespace {

namespace py = pybind11;

using Methods = py::class_<PySchedule>;
using S = const PySchedule&;
using B = const BlockLike&;
using L = const PyLoop&;

// ---- a row as Python's text ----

// `double_buffer(block, parts=2)`, `fuse(outer, inner) -> loop`
std::string signature_of(const PrimitiveRow& row) {
  std::string text = std::string(row.name) + "(";
  for (const PrimitiveParameter& p : row.parameters) {
    text += (text.ends_with('(') ? "" : ", ") + std::string(p.name);
    if (p.otherwise && p.is_otherwise_shown) text += "=" + std::to_string(*p.otherwise);
  }
  return text + ")" + (row.returns.empty() ? "" : " -> ") + std::string(row.returns);
}

std::string docstring_of(const PrimitiveRow& row) {
  const std::string indent = "\n    ";
  std::string text = signature_of(row) + "\n\n::\n" + indent;
  for (const char c : row.rewrite) text += c == '\n' ? indent : std::string(1, c);
  return text + "\n\n" + std::string(row.text);
}

// ---- functions as methods ----

// Binds `f`, whose parameters behind the schedule are the row's. Only an integer has a default.
template <class F, class R, class... A>
void def_row(Methods& schedule, const PrimitiveRow& row, const F& f, R (F::*)(S, A...) const) {
  constexpr size_t kInFront = sizeof...(A) - 1;
  using Last = std::remove_cvref_t<std::tuple_element_t<kInFront, std::tuple<A...>>>;
  HONE_ICHECK(row.parameters.size() == sizeof...(A)) << row.name << " has other parameters than its row";
  const PrimitiveParameter* const p = row.parameters.begin();
  const PrimitiveParameter& last = p[kInFront];
  HONE_ICHECK(!last.otherwise || (std::is_same_v<Last, int64_t>)) << row.name << ": only an integer has a default";
  const std::string text = docstring_of(row);
  const auto def = [&]<size_t... I>(std::index_sequence<I...>, const auto&... argument) {
    schedule.def(row.name, f, py::arg(p[I].name)..., argument..., text.c_str());
  };
  const std::make_index_sequence<kInFront> in_front;
  if constexpr (std::is_same_v<Last, py::args>) return def(in_front);
  if constexpr (std::is_same_v<Last, int64_t>)
    if (last.otherwise) return def(in_front, py::arg(last.name) = *last.otherwise);
  if constexpr (!std::is_same_v<Last, py::args>) def(in_front, py::arg(last.name));
}
template <class F>
void def(Methods& schedule, const char* name, const F& f) {
  def_row(schedule, primitive_row(name), f, &F::operator());
}

// The Python type that is given for a C++ parameter.
template <class T>
struct Given {
  using Type = T;
};
template <>
struct Given<LoopRef> {
  using Type = PyLoop;
};
template <>
struct Given<BlockRef> {
  using Type = BlockLike;
};
template <>
struct Given<BufferScope> {
  using Type = std::string;
};
template <>
struct Given<LoopKind> {
  using Type = std::string;
};
template <>
struct Given<std::string_view> {
  using Type = std::string;
};
template <class T>
using GivenFor = typename Given<std::remove_cvref_t<T>>::Type;

template <class T>
T taken(S s, const GivenFor<T>& given) {
  if constexpr (std::is_same_v<T, LoopRef>)
    return loop_of(s, given);
  else if constexpr (std::is_same_v<T, BlockRef>)
    return block_of(s, given);
  else if constexpr (std::is_same_v<T, BufferScope>)
    return scope_named(given);
  else if constexpr (std::is_same_v<T, LoopKind>)
    return kind_named(given);
  else
    return given;
}

PyLoop returned(S s, LoopRef loop) { return made(s, loop); }
PyBlock returned(S s, BlockRef block) { return made(s, block); }
py::tuple returned(S s, const std::pair<LoopRef, LoopRef>& loops) {
  return py::make_tuple(made(s, loops.first), made(s, loops.second));
}
template <class Ref>
py::tuple returned(S s, const std::vector<Ref>& refs) {
  return all_made(s, refs);
}

// A method of the C++ Schedule as one of Python's.
template <class R, class... A>
auto method(R (Schedule::*primitive)(A...)) {
  return [primitive](S s, const GivenFor<A>&... given) {
    Schedule& schedule = *s.schedule;
    if constexpr (std::is_void_v<R>)
      (schedule.*primitive)(taken<std::remove_cvref_t<A>>(s, given)...);
    else
      return returned(s, (schedule.*primitive)(taken<std::remove_cvref_t<A>>(s, given)...));
  };
}

// ---- the primitives ----

void bind_loop_primitives(Methods& schedule) {
  def(schedule, "split", [](S s, L l, const std::variant<int64_t, std::vector<int64_t>>& by) {
    if (const auto* factors = std::get_if<std::vector<int64_t>>(&by))
      return returned(s, s.schedule->split(loop_of(s, l), *factors));
    return returned(s, s.schedule->split(loop_of(s, l), std::get<int64_t>(by)));
  });
  def(schedule, "split_parts", method(&Schedule::split_parts));
  def(schedule, "tile", method(&Schedule::tile));
  def(schedule, "fuse", method(&Schedule::fuse));
  def(schedule, "reorder", [](S s, const py::args& loops) {
    std::vector<LoopRef> order;
    for (const py::handle l : loops) {
      if (!py::isinstance<PyLoop>(l)) throw py::type_error("reorder: a loop, not " + type_name(l));
      order.push_back(loop_of(s, l.cast<const PyLoop&>()));
    }
    s.schedule->reorder(order);
  });
  def(schedule, "vectorize", method(&Schedule::vectorize));
  def(schedule, "unroll", method(&Schedule::unroll));
  def(schedule, "parallel", method(&Schedule::parallel));
  def(schedule, "bind", method(&Schedule::bind));
}

void bind_places_of_stages(Methods& schedule) {
  def(schedule, "compute_at", method(&Schedule::compute_at));
  def(schedule, "reverse_compute_at", method(&Schedule::reverse_compute_at));
  def(schedule, "compute_inline", method(&Schedule::compute_inline));
  def(schedule, "reverse_compute_inline", method(&Schedule::reverse_compute_inline));
}

void bind_staging(Methods& schedule) {
  def(schedule, "cache_read",
      [](S s, const std::variant<PyTensor, std::string>& buffer, B reader, const std::string& scope) {
        const auto* tensor = std::get_if<PyTensor>(&buffer);
        const std::string name = tensor ? tensor->tensor->name : std::get<std::string>(buffer);
        return made(s, s.schedule->cache_read(name, block_of(s, reader), scope_named(scope)));
      });
  def(schedule, "cache_write", method(&Schedule::cache_write));
  def(schedule, "pad", method(&Schedule::pad));
  def(schedule, "double_buffer", method(&Schedule::double_buffer));
  def(schedule, "prepack", [](S s, const py::args& blocks) {
    std::vector<BlockRef> results;
    for (const py::handle b : blocks) results.push_back(block_of(s, b.cast<BlockLike>()));
    s.schedule->prepack(results);
  });
}

Layout layout_of(const std::string& layout, const std::string& letters, const std::vector<int64_t>& shape) {
  const bool are_letters = std::all_of(letters.begin(), letters.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  HONE_USER_CHECK(are_letters && letters.size() == shape.size())
      << "transform_layout: letters '" << clean_line(letters) << "' for " << shape.size()
      << " dimensions; it is one of A to Z for each";
  return Layout::parse(layout, letters, shape);
}

void bind_memory(Methods& schedule) {
  def(schedule, "transform_layout", [](S s, B what, const std::string& layout, const std::string& letters) {
    // A placeholder has no block.
    const auto* tensor = std::get_if<PyTensor>(&what);
    if (tensor && tensor->tensor->is_placeholder()) {
      s.schedule->transform_layout(tensor->tensor->name, layout_of(layout, letters, tensor->tensor->shape));
      return;
    }
    const BlockRef b = block_of(s, what);
    s.schedule->transform_layout(s.schedule->buffer_of(b), layout_of(layout, letters, s.schedule->shape_of(b)));
  });
  def(schedule, "set_scope", method(&Schedule::set_scope));
  def(schedule, "storage_align", method(&Schedule::storage_align));
}

void bind_reductions(Methods& schedule) {
  def(schedule, "decompose_reduction", method(&Schedule::decompose_reduction));
  def(schedule, "rfactor", method(&Schedule::rfactor));
  def(schedule, "tensorize", method(&Schedule::tensorize));
}

void bind_annotations(Methods& schedule) {
  def(schedule, "annotate",
      [](S s, const std::variant<PyLoop, std::string>& on, const std::variant<std::string, int64_t>& key,
         int64_t value) {
        if (const auto* loop = std::get_if<PyLoop>(&on)) {
          if (!std::holds_alternative<std::string>(key)) throw py::type_error("annotate(loop, key, value)");
          s.schedule->annotate(loop_of(s, *loop), std::get<std::string>(key), value);
          return;
        }
        if (!std::holds_alternative<int64_t>(key)) throw py::type_error("annotate(key, value)");
        s.schedule->annotate(std::get<std::string>(on), std::get<int64_t>(key));
      });
}

}  // namespace

void bind_primitives(Methods& schedule) {
  bind_loop_primitives(schedule);
  bind_places_of_stages(schedule);
  bind_staging(schedule);
  bind_memory(schedule);
  bind_reductions(schedule);
  bind_annotations(schedule);
}

py::list primitive_rows() {
  py::list rows;
  for (const PrimitiveRow& row : primitive_table()) {
    py::list parameters;
    for (const PrimitiveParameter& p : row.parameters) parameters.append(py::make_tuple(p.name, p.otherwise));
    py::dict d;
    d["name"] = row.name;
    d["parameters"] = parameters;
    d["returns"] = row.returns;
    d["rewrite"] = row.rewrite;
    d["text"] = row.text;
    d["limits"] = row.limits;
    rows.append(d);
  }
  return rows;
}

}  // namespace hone::python
