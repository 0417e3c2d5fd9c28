#include "tuner/api/python/te_schedule.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <set>
#include <string>
#include <variant>

#include "base/text.h"
#include "compiler/arith/verify.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/visitor.h"
#include "compiler/lower/lower_blocks.h"

namespace hone::python {
namespace {

namespace py = pybind11;

using BlockLike = std::variant<PyBlock, PyTensor, std::string>;

BlockRef block_of(const PySchedule& s, const BlockLike& block) {
  if (const auto* given = std::get_if<PyBlock>(&block)) {
    HONE_USER_CHECK(given->schedule == s.schedule) << "a block of another schedule";
    return given->ref;
  }
  const auto* tensor = std::get_if<PyTensor>(&block);
  return s.schedule->block(tensor ? tensor->tensor->name : std::get<std::string>(block));
}

LoopRef loop_of(const PySchedule& s, const PyLoop& loop) {
  HONE_USER_CHECK(loop.schedule == s.schedule) << "a loop of another schedule";
  return loop.ref;
}

PyLoop made(const PySchedule& s, LoopRef ref) { return {s.schedule, ref}; }
PyBlock made(const PySchedule& s, BlockRef ref) { return {s.schedule, ref}; }
template <class Refs>
py::tuple all_made(const PySchedule& s, const Refs& refs) {
  py::tuple out(refs.size());
  for (size_t i = 0; i < refs.size(); ++i) out[i] = py::cast(made(s, refs[i]));
  return out;
}

BufferScope scope_named(const std::string& name) {
  for (const BufferScope s : {BufferScope::kWorkspace, BufferScope::kStack, BufferScope::kShared})
    if (name == name_of(s)) return s;
  throw py::value_error("scope '" + name + "'; there are workspace, stack and shared");
}

LoopKind kind_named(const std::string& name) {
  if (name == "block") return LoopKind::kBlock;
  if (name == "thread") return LoopKind::kThread;
  if (name == "warp") return LoopKind::kWarp;
  throw py::value_error("loop kind '" + name + "'; there are block, thread and warp");
}

// The placeholders that an output depends on, in the order in which they are read first.
void gather_placeholders(const Ref<const TensorNode>& t, std::vector<const TensorNode*>* seen,
                         std::vector<Tensor>* found) {
  if (std::find(seen->begin(), seen->end(), t.get()) != seen->end()) return;
  seen->push_back(t.get());
  if (t->is_placeholder()) found->push_back(Tensor(t));
  for (const auto& input : t->inputs) gather_placeholders(input, seen, found);
}

// That each element which the definition reads is one of its tensor's. Later, when indices are flat, an index beyond
// one dimension is one into the next row.
void check_elements(const Schedule& naive) {
  struct Vectors : Visitor {  // reads of tensors of one dimension, which stay what they are
    std::set<const void*> reads;
    void visit(const Load* l) override {
      if (l->indices.size() == 1) reads.insert(l);
      Visitor::visit(l);
    }
  };
  const Function program = lower_blocks(naive, Storage::kWhole);
  Vectors vectors;
  vectors(program.body);
  for (const Unproved& u : verify(program))
    HONE_USER_CHECK(vectors.reads.contains(u.node))
        << u.access << " is not known to lie in its tensor: bound its indices, minimum(maximum(i, 0), extent - 1)";
}

std::shared_ptr<Schedule> schedule_of(const std::vector<PyTensor>& outputs, const std::vector<PyTensor>& given) {
  if (outputs.empty()) throw py::value_error("a schedule of no output");
  std::vector<Tensor> out, found;
  std::vector<const TensorNode*> seen;
  for (const PyTensor& t : outputs) {
    if (t.tensor->is_placeholder()) throw py::value_error("the output '" + t.tensor->name + "' is not computed");
    out.push_back(t.tensor);
    gather_placeholders(t.tensor.node(), &seen, &found);
  }
  std::vector<std::pair<Tensor, ParamRole>> inputs;
  for (const PyTensor& t : given)
    inputs.emplace_back(t.tensor, t.is_constant ? ParamRole::kConstant : ParamRole::kInput);
  if (given.empty())
    for (const Tensor& t : found) inputs.emplace_back(t, ParamRole::kInput);
  auto schedule = std::make_shared<Schedule>(inputs, out);
  check_elements(*schedule);
  return schedule;
}

Layout layout_of(const std::string& layout, const std::string& letters, const std::vector<int64_t>& shape) {
  const bool are_letters = std::all_of(letters.begin(), letters.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  HONE_USER_CHECK(are_letters && letters.size() == shape.size())
      << "transform_layout: letters '" << clean_line(letters) << "' for " << shape.size()
      << " dimensions; it is one of A to Z for each";
  return Layout::parse(layout, letters, shape);
}

std::string without_last_feed(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

void bind_schedules(py::module_& m) {
  py::class_<PyLoop>(m, "Loop").def_property_readonly("extent",
                                                      [](const PyLoop& l) { return l.schedule->extent(l.ref); });
  py::class_<PyBlock>(m, "Block")
      .def_property_readonly(
          "loops", [](const PyBlock& b) { return all_made(PySchedule{b.schedule}, b.schedule->loops(b.ref)); })
      .def_property_readonly("buffer", [](const PyBlock& b) { return b.schedule->buffer_of(b.ref); });
  using S = const PySchedule&;
  using B = const BlockLike&;
  using L = const PyLoop&;
  py::class_<PySchedule>(m, "Schedule")
      .def(py::init([](const std::vector<PyTensor>& outputs, const std::vector<PyTensor>& inputs) {
        return PySchedule{schedule_of(outputs, inputs)};
      }))
      .def("__str__",
           [](S s) {
             const std::string steps = s.schedule->text();
             return steps + (steps.empty() ? "" : "\n") +
                    without_last_feed(to_string(lower_blocks(*s.schedule, Storage::kWhole)));
           })
      .def_property_readonly("steps", [](S s) { return s.schedule->text(); })
      .def("__getitem__", [](S s, B b) { return made(s, block_of(s, b)); })
      .def("loops", [](S s, B b) { return all_made(s, s.schedule->loops(block_of(s, b))); })
      .def("loop", [](S s, B b, const std::string& name) { return made(s, s.schedule->loop(block_of(s, b), name)); })
      .def("split",
           [](S s, L l, const std::variant<int64_t, std::vector<int64_t>>& by) -> py::tuple {
             if (const auto* factors = std::get_if<std::vector<int64_t>>(&by))
               return all_made(s, s.schedule->split(loop_of(s, l), *factors));
             const auto [outer, inner] = s.schedule->split(loop_of(s, l), std::get<int64_t>(by));
             return py::make_tuple(made(s, outer), made(s, inner));
           })
      .def("split_parts",
           [](S s, L l, int64_t parts) {
             const auto [outer, inner] = s.schedule->split_parts(loop_of(s, l), parts);
             return py::make_tuple(made(s, outer), made(s, inner));
           })
      .def("tile", [](S s, L y, L x, int64_t fy,
                      int64_t fx) { return all_made(s, s.schedule->tile(loop_of(s, y), loop_of(s, x), fy, fx)); })
      .def("fuse", [](S s, L a, L b) { return made(s, s.schedule->fuse(loop_of(s, a), loop_of(s, b))); })
      .def("reorder",
           [](S s, const py::args& loops) {
             std::vector<LoopRef> order;
             for (const py::handle l : loops) order.push_back(loop_of(s, l.cast<const PyLoop&>()));
             s.schedule->reorder(order);
           })
      .def("vectorize", [](S s, L l) { s.schedule->vectorize(loop_of(s, l)); })
      .def("unroll", [](S s, L l) { s.schedule->unroll(loop_of(s, l)); })
      .def("parallel", [](S s, L l) { s.schedule->parallel(loop_of(s, l)); })
      .def("bind", [](S s, L l, const std::string& kind) { s.schedule->bind(loop_of(s, l), kind_named(kind)); })
      .def("compute_at", [](S s, B b, L l) { s.schedule->compute_at(block_of(s, b), loop_of(s, l)); })
      .def("reverse_compute_at", [](S s, B b, L l) { s.schedule->reverse_compute_at(block_of(s, b), loop_of(s, l)); })
      .def("compute_inline", [](S s, B b) { s.schedule->compute_inline(block_of(s, b)); })
      .def("reverse_compute_inline", [](S s, B b) { s.schedule->reverse_compute_inline(block_of(s, b)); })
      .def("cache_read",
           [](S s, const std::variant<PyTensor, std::string>& buffer, B reader, const std::string& scope) {
             const auto* tensor = std::get_if<PyTensor>(&buffer);
             const std::string name = tensor ? tensor->tensor->name : std::get<std::string>(buffer);
             return made(s, s.schedule->cache_read(name, block_of(s, reader), scope_named(scope)));
           })
      .def("cache_write",
           [](S s, B writer, const std::string& scope) {
             return made(s, s.schedule->cache_write(block_of(s, writer), scope_named(scope)));
           })
      .def("pad",
           [](S s, B b, const std::vector<int64_t>& multiples) {
             return all_made(s, s.schedule->pad(block_of(s, b), multiples));
           })
      .def("decompose_reduction",
           [](S s, B b, L l) { return made(s, s.schedule->decompose_reduction(block_of(s, b), loop_of(s, l))); })
      .def("rfactor", [](S s, B b, L l) { return made(s, s.schedule->rfactor(block_of(s, b), loop_of(s, l))); })
      .def("tensorize",
           [](S s, B b, L l, const std::string& intrinsic) {
             s.schedule->tensorize(block_of(s, b), loop_of(s, l), intrinsic);
           })
      .def("transform_layout",
           [](S s, B what, const std::string& layout, const std::string& letters) {
             // A placeholder has no block.
             const auto* tensor = std::get_if<PyTensor>(&what);
             if (tensor && tensor->tensor->is_placeholder()) {
               s.schedule->transform_layout(tensor->tensor->name, layout_of(layout, letters, tensor->tensor->shape));
               return;
             }
             const BlockRef b = block_of(s, what);
             s.schedule->transform_layout(s.schedule->buffer_of(b),
                                          layout_of(layout, letters, s.schedule->shape_of(b)));
           })
      .def("set_scope",
           [](S s, B b, const std::string& scope) { s.schedule->set_scope(block_of(s, b), scope_named(scope)); })
      .def("storage_align",
           [](S s, B b, int dimension, int64_t factor, int64_t offset) {
             s.schedule->storage_align(block_of(s, b), dimension, factor, offset);
           })
      .def("double_buffer", [](S s, B b) { s.schedule->double_buffer(block_of(s, b)); })
      .def("prepack",
           [](S s, const py::args& blocks) {
             std::vector<BlockRef> results;
             for (const py::handle b : blocks) results.push_back(block_of(s, b.cast<BlockLike>()));
             s.schedule->prepack(results);
           })
      .def(
          "annotate",
          [](S s, const std::variant<PyLoop, std::string>& on, const std::variant<std::string, int64_t>& key,
             int64_t value) {
            if (const auto* loop = std::get_if<PyLoop>(&on)) {
              if (!std::holds_alternative<std::string>(key)) throw py::type_error("annotate(loop, key, value)");
              s.schedule->annotate(loop_of(s, *loop), std::get<std::string>(key), value);
              return;
            }
            if (!std::holds_alternative<int64_t>(key)) throw py::type_error("annotate(key, value)");
            s.schedule->annotate(std::get<std::string>(on), std::get<int64_t>(key));
          },
          py::arg("on"), py::arg("key"), py::arg("value") = 0);
}

}  // namespace hone::python
