#include "compiler/schedule/primitive_table.h"

#include <string>

#include "base/check.h"

namespace hone {
namespace {

// A text that begins behind the first line's end, where all its lines have the same room.
constexpr std::string_view lines(std::string_view text) { return text.substr(1); }

constexpr PrimitiveRow kPrimitives[] = {
    // ---- loops ----
    {.name = "split",
     .parameters = {{"loop"}, {"by"}},
     .returns = "loops",
     .rewrite = "for i in 0..n: S(i)  ->  for io: for ii in 0..by: S(io*by + ii)",
     .text = lines(R"(
Guarded where ``by`` does not divide the extent. Returns the outer and the inner loop. A list of factors gives one loop
for each, outermost first; the first factor is ignored, the outermost loop has as many iterations as are needed.)"),
     .limits = lines(R"(
Requires factors of at least 1, of a list at least one, and a serial loop without prefetch and limit. A list is
recorded as one split after the other.)"),
     .steps = {Primitive::kSplit}},
    {.name = "split_parts",
     .parameters = {{"loop"}, {"parts"}},
     .returns = "loops",
     .rewrite = "for i in 0..n: S(i)  ->  for io in 0..parts: for ii: S(io*ceil(n/parts) + ii)",
     .text = "Returns the outer and the inner loop. The last parts may be short or empty.",
     .limits = "Requires 1 <= ``parts`` <= n and a serial loop without prefetch and limit.",
     .steps = {Primitive::kSplitParts}},
    {.name = "tile",
     .parameters = {{"y"}, {"x"}, {"factor_y"}, {"factor_x"}},
     .returns = "loops",
     .rewrite = "for y: for x: S(y, x)  ->  for yo: for xo: for yi in 0..factor_y: for xi in 0..factor_x: S",
     .text = "Two splits and a reorder. Returns (yo, xo, yi, xi).",
     .limits = lines(R"(
Requires factors of at least 1 and serial loops without prefetch and limit, ``x`` inside ``y`` with no other statements
between them.)"),
     .steps = {}},
    {.name = "fuse",
     .parameters = {{"outer"}, {"inner"}},
     .returns = "loop",
     .rewrite = "for i: for j in 0..m: S(i, j)  ->  for f: S(f // m, f % m)",
     .text =
         "Requires that ``inner`` is all that stands in ``outer``, and both over elements or both over a reduction.",
     .limits = "Both are serial, without prefetch and limit, and have at most 2^46 iterations together.",
     .steps = {Primitive::kFuse}},
    {.name = "reorder",
     .parameters = {{"*loops"}},
     .returns = "",
     .rewrite = "for i: for j: for k: S  ->  for k: for j: for i: S        reorder(k, i)",
     .text = "The named loops exchange places, outermost first as named; other loops keep theirs.",
     .limits = "Requires serial loops of one nest, each named once, with no other statements between them.",
     .steps = {Primitive::kReorder}},
    {.name = "vectorize",
     .parameters = {{"loop"}},
     .returns = "",
     .rewrite = "for i: S  ->  vectorize i: S",
     .text = "The iterations become lanes of vectors. An innermost loop over elements, at most 128 iterations.",
     .limits = "Requires a serial loop without prefetch.",
     .steps = {Primitive::kVectorize}},
    {.name = "unroll",
     .parameters = {{"loop"}},
     .returns = "",
     .rewrite = "for i: S  ->  S(0); S(1); ...",
     .text = "The iterations become copies of the body; at most 1,024.",
     .limits = "Requires a serial loop.",
     .steps = {Primitive::kUnroll}},
    {.name = "parallel",
     .parameters = {{"loop"}},
     .returns = "",
     .rewrite = "for i: S  ->  parallel i: S",
     .text = "Threads share the iterations, which write different elements; no loop inside or around is parallel.",
     .limits = lines(R"(
Requires a serial loop without prefetch, of no reduction. Iterations may write the same elements of a buffer that only
this loop touches: each has one of its own.)"),
     .steps = {Primitive::kParallel}},
    {.name = "bind",
     .parameters = {{"loop"}, {"kind"}},
     .returns = "",
     .rewrite = "for i: S  ->  block i: S",
     .text = lines(R"(
For GPUs. ``kind``: ``"block"``, the iterations are blocks of a launch; ``"thread"``, the threads of a block;
``"warp"``, the threads of a warp carry out the loop together.)"),
     .limits = lines(R"(
Requires a serial loop without prefetch. Iterations of block and thread loops write different elements or have buffers
of their own. Around a block loop stand block loops only, with no other statements beside it; around a thread loop stand
block, thread, serial and unrolled loops only. A block may hold several nests of thread loops. A warp loop is the
innermost loop of a reduction; tensorize() makes those that tensor cores carry out.)"),
     .steps = {Primitive::kBind}},

    // ---- where a stage is computed ----
    {.name = "compute_at",
     .parameters = {{"producer"}, {"loop"}},
     .returns = "",
     .rewrite = "for i: P[i] = f(i);  for i: C[i] = g(P[i])  ->  for i: { P[i] = f(i);  C[i] = g(P[i]) }",
     .text = lines(R"(
``producer`` computes under ``loop`` what one iteration needs of it, again where iterations share elements. Everything
that reads it stands in ``loop``.)"),
     .limits = lines(R"(
It gets fresh loops there. Requires that something in ``loop`` reads it, and that its nest holds nothing else. Refuses a
vector loop, an output, a transformed layout and a decomposed reduction.)"),
     .steps = {Primitive::kComputeAt}},
    {.name = "reverse_compute_at",
     .parameters = {{"consumer"}, {"loop"}},
     .returns = "",
     .rewrite = "for i: C[i] = f(i);  for i: D[i] = g(C[i])  ->  for i: { C[i] = f(i);  D[i] = g(C[i]) }",
     .text = lines(R"(
``consumer`` computes under ``loop``, a loop of the stage that it reads, the elements that one iteration completes.)"),
     .limits = lines(R"(
Requires that it reads one stage there, each dimension by an axis of its own, that its nest holds nothing else, and that
everything else it reads is computed before. Refuses a vector loop, a reduction loop of the stage that it reads,
transformed layouts, a stage that compute_at() moved, and concurrent loops whose iterations would write the same
elements.)"),
     .steps = {Primitive::kReverseComputeAt}},
    {.name = "compute_inline",
     .parameters = {{"producer"}},
     .returns = "",
     .rewrite = "for i: P[i] = f(i);  for i: C[i] = g(P[h(i)])  ->  for i: C[i] = g(f(h(i)))",
     .text = "The expression of ``producer`` replaces every read of it. No reduction, no output.",
     .limits = "Refuses a stage whose layout was transformed, and a buffer that several stages write.",
     .steps = {Primitive::kComputeInline}},
    {.name = "reverse_compute_inline",
     .parameters = {{"consumer"}},
     .returns = "",
     .rewrite = "for i: C[i] = f(i);  for i: D[i] = g(C[i])  ->  for i: D[i] = g(f(i))",
     .text = "``consumer`` reads one stage, element by element, and nothing else reads that.",
     .limits = lines(R"(
The loops are those of the stage that it reads, which keeps its name and writes D. Refuses reductions on either side,
transformed layouts, and an output or a stage that compute_at() moved in the place of C.)"),
     .steps = {Primitive::kReverseComputeInline}},

    // ---- copies and memory ----
    {.name = "cache_read",
     .parameters = {{"buffer"}, {"reader"}, {"scope"}},
     .returns = "block",
     .rewrite = "for i: C[i] = f(B[i])  ->  for i: B_cache[i] = B[i];  for i: C[i] = f(B_cache[i])",
     .text = lines(R"(
``reader`` reads a copy in ``scope``: ``"stack"``, ``"workspace"``, ``"shared"``. Returns the block that makes it. Comes
before compute_at().)"),
     .limits = "Refuses a stage that does not read ``buffer``, and a buffer that is written in the nest of ``reader``.",
     .steps = {Primitive::kCacheRead}},
    {.name = "cache_write",
     .parameters = {{"writer"}, {"scope"}},
     .returns = "block",
     .rewrite = "for i: C[i] = f(i)  ->  for i: C_cache[i] = f(i);  for i: C[i] = C_cache[i]",
     .text = "``writer`` writes to a buffer in ``scope``. Returns the block that copies it.",
     .limits = lines(R"(
Refuses a decomposed reduction, a transformed layout, and a buffer that another stage writes or that is read in the nest
of ``writer``.)"),
     .steps = {Primitive::kCacheWrite}},
    {.name = "pad",
     .parameters = {{"block"}, {"multiples"}},
     .returns = "blocks",
     .rewrite = lines(R"(
for k in 0..6: C[i] += A[k]
  ->  for k in 0..8: A_pad[k] = k < 6 ? A[k] : 0;  for k in 0..8: C[i] += A_pad[k])"),
     .text = lines(R"(
Extends each axis, elements first, then reductions, to a multiple of its entry, so that splits leave no tail. Returns
the blocks of the padded copies, then, of an output, the one that copies its valid part.)"),
     .limits = lines(R"(
The copies come in the order of first reading. Requires a multiple for each axis, 1 to 2^20, serial loops without tails
that hold nothing else, and reductions whose padded terms are the identity. Comes before compute_at(),
decompose_reduction(), rfactor() and transform_layout().)"),
     .steps = {Primitive::kPad}},
    {.name = "transform_layout",
     .parameters = {{"what"}, {"layout"}, {"letters"}},
     .returns = "",
     .rewrite = R"(C[n, c]  ->  C[n, c // 16, c % 16]        transform_layout(C, "NC16c", "NC"))",
     .text = lines(R"(
In every access. ``letters``: one of A to Z for each dimension. Callers pass a parameter in that layout, too.)"),
     .limits = lines(R"(
Refuses a parameter that was transformed before or is packed ahead, a buffer that was aligned before, and a layout that
does not split the buffer's shape.)"),
     .steps = {Primitive::kTransformLayout}},
    {.name = "set_scope",
     .parameters = {{"block"}, {"scope"}},
     .returns = "",
     .rewrite = "alloc workspace C  ->  alloc stack C",
     .text = R"(Where the buffer of an intermediate lives: ``"stack"``, ``"workspace"``, ``"shared"``.)",
     .limits = "Refuses parameters.",
     .steps = {Primitive::kSetScope}},
    {.name = "storage_align",
     .parameters = {{"block"}, {"dimension"}, {"factor"}, {"offset"}},
     .returns = "",
     .rewrite = "alloc A[16, 32]  ->  alloc A[16, 40]        storage_align(A, 0, 32, 8)",
     .text = lines(R"(
Neighbours in ``dimension`` are a multiple of ``factor`` plus ``offset`` elements apart: other banks of shared
memory.)"),
     .limits = lines(R"(
That is so as far as the extents of the inner dimensions allow. Requires an intermediate,
0 <= ``dimension`` < rank - 1, 1 <= ``factor`` <= 4096 and 0 <= ``offset`` < ``factor``.)"),
     .steps = {Primitive::kStorageAlign}},
    {.name = "double_buffer",
     .parameters = {{"block"}, {"parts", 2}},
     .returns = "",
     .rewrite = "for k: { A = f(k);  S(A) }  ->  A[0] = f(0);  for k: { A[(k + 1) % 2] = f(k + 1);  S(A[k % 2]) }",
     .text = lines(R"(
Each iteration fills the buffer that the next one reads; with more parts, 3 to 8, the one that is read ``parts - 1``
iterations later: more copies are under way.)"),
     .limits = lines(R"(
The last iterations fill nothing. Requires that ``block`` stands directly in a serial loop without prefetch that runs
more than once, that only this loop touches its buffer, that ``block`` reads nothing computed in the same iteration, and
2 <= ``parts`` <= 8. Refuses outputs, reductions, and a block that has several buffers.)"),
     .steps = {Primitive::kDoubleBuffer}},
    {.name = "prepack",
     .parameters = {{"*blocks"}},
     .returns = "",
     .rewrite = "kernel(W): { U = f(W);  C = g(U) }  ->  prepack(W): U = f(W);  kernel(U): C = g(U)",
     .text = lines(R"(
Blocks that depend on one constant are computed once, ahead of the kernel. Schedule them and set their layouts
before.)"),
     .limits = lines(R"(
The kernel takes what they write, in this order, in place of the constant; their nests leave the program with the stages
that are computed inside. Requires buffers in the workspace, made of one constant parameter whose layout is unchanged
and that no other stage reads, and of each other; serial, unrolled or vector loops; helper stages on the stack, which no
other stage reads.)"),
     .steps = {Primitive::kPrepack}},

    // ---- reductions ----
    {.name = "decompose_reduction",
     .parameters = {{"block"}, {"loop"}},
     .returns = "block",
     .rewrite = "for k: { if (k == 0) C[i] = 0;  C[i] += S }  ->  C[i] = 0;  for k: C[i] += S",
     .text = "The first step stands in front of ``loop``, in the block that is returned.",
     .limits = lines(R"(
Requires a reduction that is not decomposed yet, with all its reduction loops at or inside ``loop``, and there no loop
that computes the same sum again, as compute_at() may have put around it.)"),
     .steps = {Primitive::kDecomposeReduction}},
    {.name = "rfactor",
     .parameters = {{"block"}, {"loop"}},
     .returns = "block",
     .rewrite = "for ko: for ki: C[i] += S  ->  for ko: for ki: C_rf[ko, i] += S;  for ko: C[i] += C_rf[ko, i]",
     .text = "A partial result for each iteration of ``loop``, a reduction. Returns the block that reduces those.",
     .limits = lines(R"(
``block`` computes the partial results. Requires a reduction of ``block`` over ``loop``. Comes before compute_at(),
decompose_reduction() and transform_layout().)"),
     .steps = {Primitive::kRfactor}},
    {.name = "tensorize",
     .parameters = {{"block"}, {"loop"}, {"intrinsic"}},
     .returns = "",
     .rewrite = "for j in 0..16: for k in 0..4: C[j] += s32(A[k]) * s32(B[j, k])  ->  C[0..16] += dot4(A, B)",
     .text = R"(An instruction carries out the loops from ``loop`` inwards: ``"dot_u8s8_s32"`` and others.)",
     .limits = lines(R"(
Requires that these are the innermost loops, serial, without prefetch and without tails, and that value, types, strides
and extents are the pattern's; for tensor cores also that the thread loops of a warp stand directly around.)"),
     .steps = {Primitive::kTensorize}},

    // ---- facts for the code generator ----
    {.name = "annotate",
     .parameters = {{"on"}, {"key"}, {"value", 0, false}},
     .returns = "",
     .rewrite = lines(R"(
for k: S(A[k])  ->  for k: { prefetch A[k + value];  S(A[k]) }        annotate(k, "prefetch", value))"),
     .text = lines(R"(
``annotate("vector_bits", 512)`` and ``annotate("partition", 1)`` are facts of the whole program for the code
generator.)"),
     .limits = lines(R"(
``"prefetch"`` is of all buffers that are read in the loop, ``"prefetch:A"`` of that one. It requires a serial or
unrolled loop without prefetch that moves something read in it, and 1 <= ``value`` <= 2^20.

``annotate(k, "limit:L", value)`` is ``for k: S(k)  ->  for k: if (k * value <= L) S(k)``. It leaves out what lies
beyond the one whole number in buffer L, which a stage before the loop or the caller writes. The definition must use
nothing of that: a template whose stages compare with L wherever they read sees to it, and the reference of its operator
tells. It requires a serial loop without a limit whose place is settled, and 1 <= ``value`` <= 2^20.

``"vector_bits"`` is the preferred width of vectors; ``"partition"`` how workers divide parallel loops: 0, static, as
without it, or 1, dynamic. Other keys are refused.)"),
     .steps = {Primitive::kAnnotateLoop, Primitive::kAnnotate}},
};

}  // namespace

std::span<const PrimitiveRow> primitive_table() { return kPrimitives; }

const PrimitiveRow& primitive_row(std::string_view name) {
  for (const PrimitiveRow& row : kPrimitives)
    if (row.name == name) return row;
  throw InternalError("there is no primitive " + std::string(name));
}

}  // namespace hone
