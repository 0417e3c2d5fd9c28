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
#include "tuner/api/python/whole_objects.h"

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

std::string type_name(const py::handle& object) {
  return py::type::handle_of(object).attr("__name__").cast<std::string>();
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
  const Function program = lower_blocks(naive, Allocation::kWhole);
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

// What te.Schedule takes: a tensor or several; placeholders or None.
PySchedule made_of(const py::object& outputs, const py::object& inputs) {
  const auto tensors_of = [](const char* name, const py::object& given) {
    if (py::isinstance<PyTensor>(given)) return std::vector<PyTensor>{given.cast<PyTensor>()};
    std::vector<PyTensor> tensors;
    const std::string wrong = std::string("Schedule: ") + name + " must be a tensor or a list of tensors, not ";
    if (!py::isinstance<py::iterable>(given) || py::isinstance<py::str>(given))
      throw py::type_error(wrong + type_name(given));
    for (const py::handle t : given) {
      if (!py::isinstance<PyTensor>(t)) throw py::type_error(wrong + "one with " + type_name(t));
      tensors.push_back(t.cast<PyTensor>());
    }
    return tensors;
  };
  return PySchedule{schedule_of(tensors_of("outputs", outputs),
                                inputs.is_none() ? std::vector<PyTensor>{} : tensors_of("inputs", inputs))};
}

}  // namespace

void bind_schedules(py::module_& m) {
  py::class_<PyLoop> loop(m, "Loop", "A loop of a schedule.");
  make_only_whole(loop);
  loop.def_property_readonly(
      "extent", [](const PyLoop& l) { return l.schedule->extent(l.ref); }, "Its iterations.");
  py::class_<PyBlock> block(m, "Block", "A stage of a schedule: what computes one tensor, or a copy.");
  make_only_whole(block);
  block
      .def_property_readonly(
          "loops", [](const PyBlock& b) { return all_made(PySchedule{b.schedule}, b.schedule->loops(b.ref)); },
          "The loops around it, outermost first.")
      .def_property_readonly(
          "buffer", [](const PyBlock& b) { return b.schedule->buffer_of(b.ref); },
          "The name of the buffer that it writes.");
  using S = const PySchedule&;
  using B = const BlockLike&;
  using L = const PyLoop&;
  // Each text begins with the signature, in the words that people use.
  py::options texts;
  texts.disable_function_signatures();
  py::class_<PySchedule> schedule(m, "Schedule");
  make_only_whole(schedule);
  schedule
      .def(py::init(&made_of), py::arg("outputs"), py::arg("inputs") = py::none(),
           "Schedule(outputs, inputs=None): of a tensor that is computed, or of several.")
      .def("__str__",
           [](S s) {
             const std::string steps = s.schedule->text();
             return steps + (steps.empty() ? "" : "\n") +
                    without_last_feed(to_string(lower_blocks(*s.schedule, Allocation::kWhole)));
           })
      .def_property_readonly(
          "steps", [](S s) { return s.schedule->text(); }, "What was done so far, a line a primitive.")
      .def(
          "__getitem__", [](S s, B b) { return made(s, block_of(s, b)); }, py::arg("block"))
      .def(
          "loops", [](S s, B b) { return all_made(s, s.schedule->loops(block_of(s, b))); }, py::arg("block"),
          R"(loops(block) -> loops

The loops around a block, outermost first.)")
      .def(
          "loop", [](S s, B b, const std::string& name) { return made(s, s.schedule->loop(block_of(s, b), name)); },
          py::arg("block"), py::arg("name"), R"(loop(block, name) -> loop

The innermost loop of that name around a block.)")
      .def(
          "split",
          [](S s, L l, const std::variant<int64_t, std::vector<int64_t>>& by) -> py::tuple {
            if (const auto* factors = std::get_if<std::vector<int64_t>>(&by))
              return all_made(s, s.schedule->split(loop_of(s, l), *factors));
            const auto [outer, inner] = s.schedule->split(loop_of(s, l), std::get<int64_t>(by));
            return py::make_tuple(made(s, outer), made(s, inner));
          },
          py::arg("loop"), py::arg("by"), R"(split(loop, by) -> loops

::

    for i in 0..n: S(i)  ->  for io: for ii in 0..by: S(io*by + ii)

Guarded where ``by`` does not divide the extent. Returns the outer and the inner loop. A list of factors gives one loop
for each, outermost first; the first factor is ignored, the outermost loop has as many iterations as are needed.)")
      .def(
          "split_parts",
          [](S s, L l, int64_t parts) {
            const auto [outer, inner] = s.schedule->split_parts(loop_of(s, l), parts);
            return py::make_tuple(made(s, outer), made(s, inner));
          },
          py::arg("loop"), py::arg("parts"), R"(split_parts(loop, parts) -> loops

::

    for i in 0..n: S(i)  ->  for io in 0..parts: for ii: S(io*ceil(n/parts) + ii)

Returns the outer and the inner loop. The last parts may be short or empty.)")
      .def(
          "tile",
          [](S s, L y, L x, int64_t fy, int64_t fx) {
            return all_made(s, s.schedule->tile(loop_of(s, y), loop_of(s, x), fy, fx));
          },
          py::arg("y"), py::arg("x"), py::arg("factor_y"), py::arg("factor_x"),
          R"(tile(y, x, factor_y, factor_x) -> loops

::

    for y: for x: S(y, x)  ->  for yo: for xo: for yi in 0..factor_y: for xi in 0..factor_x: S

Two splits and a reorder. Returns (yo, xo, yi, xi).)")
      .def(
          "fuse", [](S s, L a, L b) { return made(s, s.schedule->fuse(loop_of(s, a), loop_of(s, b))); },
          py::arg("outer"), py::arg("inner"), R"(fuse(outer, inner) -> loop

::

    for i: for j in 0..m: S(i, j)  ->  for f: S(f // m, f % m)

Requires that ``inner`` is all that stands in ``outer``, and both over elements or both over a reduction.)")
      .def(
          "reorder",
          [](S s, const py::args& loops) {
            std::vector<LoopRef> order;
            for (const py::handle l : loops) {
              if (!py::isinstance<PyLoop>(l)) throw py::type_error("reorder: a loop, not " + type_name(l));
              order.push_back(loop_of(s, l.cast<const PyLoop&>()));
            }
            s.schedule->reorder(order);
          },
          R"(reorder(*loops)

::

    for i: for j: for k: S  ->  for k: for j: for i: S        reorder(k, i)

The named loops exchange places, outermost first as named; other loops keep theirs.)")
      .def(
          "vectorize", [](S s, L l) { s.schedule->vectorize(loop_of(s, l)); }, py::arg("loop"), R"(vectorize(loop)

::

    for i: S  ->  vectorize i: S

The iterations become lanes of vectors. An innermost loop over elements, at most 128 iterations.)")
      .def(
          "unroll", [](S s, L l) { s.schedule->unroll(loop_of(s, l)); }, py::arg("loop"), R"(unroll(loop)

::

    for i: S  ->  S(0); S(1); ...

The iterations become copies of the body; at most 1,024.)")
      .def(
          "parallel", [](S s, L l) { s.schedule->parallel(loop_of(s, l)); }, py::arg("loop"), R"(parallel(loop)

::

    for i: S  ->  parallel i: S

Threads share the iterations, which write different elements; no loop inside or around is parallel.)")
      .def(
          "bind", [](S s, L l, const std::string& kind) { s.schedule->bind(loop_of(s, l), kind_named(kind)); },
          py::arg("loop"), py::arg("kind"), R"(bind(loop, kind)

::

    for i: S  ->  block i: S

For GPUs. ``kind``: ``"block"``, the iterations are blocks of a launch; ``"thread"``, the threads of a block;
``"warp"``, the threads of a warp carry out the loop together.)")
      .def(
          "compute_at", [](S s, B b, L l) { s.schedule->compute_at(block_of(s, b), loop_of(s, l)); },
          py::arg("producer"), py::arg("loop"), R"(compute_at(producer, loop)

::

    for i: P[i] = f(i);  for i: C[i] = g(P[i])  ->  for i: { P[i] = f(i);  C[i] = g(P[i]) }

``producer`` computes under ``loop`` what one iteration needs of it, again where iterations share elements. Everything
that reads it stands in ``loop``.)")
      .def(
          "reverse_compute_at", [](S s, B b, L l) { s.schedule->reverse_compute_at(block_of(s, b), loop_of(s, l)); },
          py::arg("consumer"), py::arg("loop"), R"(reverse_compute_at(consumer, loop)

::

    for i: C[i] = f(i);  for i: D[i] = g(C[i])  ->  for i: { C[i] = f(i);  D[i] = g(C[i]) }

``consumer`` computes under ``loop``, a loop of the stage that it reads, the elements that one iteration completes.)")
      .def(
          "compute_inline", [](S s, B b) { s.schedule->compute_inline(block_of(s, b)); }, py::arg("producer"),
          R"(compute_inline(producer)

::

    for i: P[i] = f(i);  for i: C[i] = g(P[h(i)])  ->  for i: C[i] = g(f(h(i)))

The expression of ``producer`` replaces every read of it. No reduction, no output.)")
      .def(
          "reverse_compute_inline", [](S s, B b) { s.schedule->reverse_compute_inline(block_of(s, b)); },
          py::arg("consumer"), R"(reverse_compute_inline(consumer)

::

    for i: C[i] = f(i);  for i: D[i] = g(C[i])  ->  for i: D[i] = g(f(i))

``consumer`` reads one stage, element by element, and nothing else reads that.)")
      .def(
          "cache_read",
          [](S s, const std::variant<PyTensor, std::string>& buffer, B reader, const std::string& scope) {
            const auto* tensor = std::get_if<PyTensor>(&buffer);
            const std::string name = tensor ? tensor->tensor->name : std::get<std::string>(buffer);
            return made(s, s.schedule->cache_read(name, block_of(s, reader), scope_named(scope)));
          },
          py::arg("buffer"), py::arg("reader"), py::arg("scope"), R"(cache_read(buffer, reader, scope) -> block

::

    for i: C[i] = f(B[i])  ->  for i: B_cache[i] = B[i];  for i: C[i] = f(B_cache[i])

``reader`` reads a copy in ``scope``: ``"stack"``, ``"workspace"``, ``"shared"``. Returns the block that makes it. Comes
before compute_at().)")
      .def(
          "cache_write",
          [](S s, B writer, const std::string& scope) {
            return made(s, s.schedule->cache_write(block_of(s, writer), scope_named(scope)));
          },
          py::arg("writer"), py::arg("scope"), R"(cache_write(writer, scope) -> block

::

    for i: C[i] = f(i)  ->  for i: C_cache[i] = f(i);  for i: C[i] = C_cache[i]

``writer`` writes to a buffer in ``scope``. Returns the block that copies it.)")
      .def(
          "pad",
          [](S s, B b, const std::vector<int64_t>& multiples) {
            return all_made(s, s.schedule->pad(block_of(s, b), multiples));
          },
          py::arg("block"), py::arg("multiples"), R"(pad(block, multiples) -> blocks

::

    for k in 0..6: C[i] += A[k]
      ->  for k in 0..8: A_pad[k] = k < 6 ? A[k] : 0;  for k in 0..8: C[i] += A_pad[k]

Extends each axis, elements first, then reductions, to a multiple of its entry, so that splits leave no tail. Returns
the blocks of the padded copies, then, of an output, the one that copies its valid part.)")
      .def(
          "decompose_reduction",
          [](S s, B b, L l) { return made(s, s.schedule->decompose_reduction(block_of(s, b), loop_of(s, l))); },
          py::arg("block"), py::arg("loop"), R"(decompose_reduction(block, loop) -> block

::

    for k: { if (k == 0) C[i] = 0;  C[i] += S }  ->  C[i] = 0;  for k: C[i] += S

The first step stands in front of ``loop``, in the block that is returned.)")
      .def(
          "rfactor", [](S s, B b, L l) { return made(s, s.schedule->rfactor(block_of(s, b), loop_of(s, l))); },
          py::arg("block"), py::arg("loop"), R"(rfactor(block, loop) -> block

::

    for ko: for ki: C[i] += S  ->  for ko: for ki: C_rf[ko, i] += S;  for ko: C[i] += C_rf[ko, i]

A partial result for each iteration of ``loop``, a reduction. Returns the block that reduces those.)")
      .def(
          "tensorize",
          [](S s, B b, L l, const std::string& intrinsic) {
            s.schedule->tensorize(block_of(s, b), loop_of(s, l), intrinsic);
          },
          py::arg("block"), py::arg("loop"), py::arg("intrinsic"), R"(tensorize(block, loop, intrinsic)

::

    for j in 0..16: for k in 0..4: C[j] += s32(A[k]) * s32(B[j, k])  ->  C[0..16] += dot4(A, B)

An instruction carries out the loops from ``loop`` inwards: ``"dot_u8s8_s32"`` and others.)")
      .def(
          "transform_layout",
          [](S s, B what, const std::string& layout, const std::string& letters) {
            // A placeholder has no block.
            const auto* tensor = std::get_if<PyTensor>(&what);
            if (tensor && tensor->tensor->is_placeholder()) {
              s.schedule->transform_layout(tensor->tensor->name, layout_of(layout, letters, tensor->tensor->shape));
              return;
            }
            const BlockRef b = block_of(s, what);
            s.schedule->transform_layout(s.schedule->buffer_of(b), layout_of(layout, letters, s.schedule->shape_of(b)));
          },
          py::arg("what"), py::arg("layout"), py::arg("letters"), R"(transform_layout(what, layout, letters)

::

    C[n, c]  ->  C[n, c // 16, c % 16]        transform_layout(C, "NC16c", "NC")

In every access. ``letters``: one of A to Z for each dimension. Callers pass a parameter in that layout, too.)")
      .def(
          "set_scope",
          [](S s, B b, const std::string& scope) { s.schedule->set_scope(block_of(s, b), scope_named(scope)); },
          py::arg("block"), py::arg("scope"), R"(set_scope(block, scope)

::

    alloc workspace C  ->  alloc stack C

Where the buffer of an intermediate lives: ``"stack"``, ``"workspace"``, ``"shared"``.)")
      .def(
          "storage_align",
          [](S s, B b, int dimension, int64_t factor, int64_t offset) {
            s.schedule->storage_align(block_of(s, b), dimension, factor, offset);
          },
          py::arg("block"), py::arg("dimension"), py::arg("factor"), py::arg("offset"),
          R"(storage_align(block, dimension, factor, offset)

::

    alloc A[16, 32]  ->  alloc A[16, 40]        storage_align(A, 0, 32, 8)

Neighbours in ``dimension`` are a multiple of ``factor`` plus ``offset`` elements apart: other banks of shared
memory.)")
      .def(
          "double_buffer", [](S s, B b, int64_t parts) { s.schedule->double_buffer(block_of(s, b), parts); },
          py::arg("block"), py::arg("parts") = 2,
          R"(double_buffer(block, parts=2)

::

    for k: { A = f(k);  S(A) }  ->  A[0] = f(0);  for k: { A[(k + 1) % 2] = f(k + 1);  S(A[k % 2]) }

Each iteration fills the buffer that the next one reads; with more parts, 3 to 8, the one that is read ``parts - 1``
iterations later: more copies are under way.)")
      .def(
          "prepack",
          [](S s, const py::args& blocks) {
            std::vector<BlockRef> results;
            for (const py::handle b : blocks) results.push_back(block_of(s, b.cast<BlockLike>()));
            s.schedule->prepack(results);
          },
          R"(prepack(*blocks)

::

    kernel(W): { U = f(W);  C = g(U) }  ->  prepack(W): U = f(W);  kernel(U): C = g(U)

Blocks that depend on one constant are computed once, ahead of the kernel. Schedule them and set their layouts
before.)")
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
          py::arg("on"), py::arg("key"), py::arg("value") = 0, R"(annotate(on, key, value)

::

    for k: S(A[k])  ->  for k: { prefetch A[k + value];  S(A[k]) }        annotate(k, "prefetch", value)

``annotate("vector_bits", 512)`` and ``annotate("partition", 1)`` are facts of the whole program for the code
generator.)");
}

}  // namespace hone::python
