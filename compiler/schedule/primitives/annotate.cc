// set_scope: where a stage's buffer lives. annotate: facts for the code generator that change no meaning.
//
// An iteration prefetches each cache line that it reads of each buffer in memory, for buffers whose region moves with
// the loop (lower/prefetches.h).
#include <fmt/format.h>

#include "compiler/schedule/schedule.h"

namespace hone {

void Schedule::set_scope(BlockRef ref, BufferScope scope) {
  TreeNode* leaf = live_block(ref, "set_scope");
  const Buffer from = leaf->block->out;
  HONE_USER_CHECK(scope != BufferScope::kParam && from->scope != BufferScope::kParam)
      << "set_scope: '" << from->name << "' of stage '" << leaf->block->name << "' is " << name_of(from->scope)
      << " and cannot become " << name_of(scope);
  replace_buffer(from, make_buffer(from->name, from->dtype, from->shape, scope), nullptr);
  record(Primitive::kSetScope, {ref.id, static_cast<int64_t>(scope)}, "",
         fmt::format("set_scope({}, {})", leaf->block->name, name_of(scope)));
}

void Schedule::annotate(std::string_view key, int64_t value) {
  HONE_USER_CHECK(key == "vector_bits" || key == "partition")
      << "annotate: unknown key '" << key << "'; known: vector_bits, partition";
  HONE_USER_CHECK(key != "partition" || value == 0 || value == 1)
      << "annotate: partition " << value << " is neither 0 (static) nor 1 (dynamic)";
  annotations_.emplace_back(key, value);
  record(Primitive::kAnnotate, {value}, std::string(key), fmt::format("annotate({}, {})", key, value));
}

void Schedule::limit_loop(TreeNode* l, const std::string& of, int64_t value) {
  HONE_USER_CHECK(value >= 1 && value <= (int64_t{1} << 20))
      << "annotate: limit " << value << " of " << describe(l) << " must be between 1 and 2^20";
  HONE_USER_CHECK(l->loop == LoopKind::kSerial && l->limit == 0)
      << "annotate: " << describe(l) << " is " << (l->limit ? "limited already" : name_of(l->loop))
      << " and takes no limit";
  const Buffer limit = buffer_named(of, "annotate");
  HONE_USER_CHECK(limit->dtype == kIndex && limit->shape.size() == 1 && is_const(limit->shape[0], 1))
      << "annotate: '" << of << "' is not one whole number and cannot limit " << describe(l);
  l->limit = value;
  l->limit_of = of;
}

void Schedule::annotate(LoopRef ref, std::string_view key, int64_t value) {
  TreeNode* l = live_loop(ref, "annotate");
  const size_t colon = std::min(key.find(':'), key.size());
  const std::string of(key.substr(std::min(colon + 1, key.size())));
  if (key.substr(0, colon) == "limit" && !of.empty()) {
    limit_loop(l, of, value);
    record(Primitive::kAnnotateLoop, {ref.id, value}, std::string(key),
           fmt::format("annotate({}, {}, {})", l->var->name, key, value));
    return;
  }
  HONE_USER_CHECK(key.substr(0, colon) == "prefetch" && (colon == key.size() || !of.empty()))
      << "annotate: unknown key '" << key << "' of " << describe(l)
      << "; known: prefetch, prefetch:BUFFER, limit:BUFFER";
  HONE_USER_CHECK(value >= 1 && value <= (int64_t{1} << 20))
      << "annotate: prefetch distance " << value << " of " << describe(l) << " must be between 1 and 2^20";
  HONE_USER_CHECK(l->loop == LoopKind::kSerial || l->loop == LoopKind::kUnroll)
      << "annotate: " << describe(l) << " is " << name_of(l->loop) << " and has no next iteration to prefetch for";
  HONE_USER_CHECK(l->prefetch == 0) << "annotate: " << describe(l) << " has a prefetch already";
  bool reads_ahead = false, reads_it = of.empty();
  for_each_block(l, [&](Block& b, TreeNode*) {
    for (const Iter& i : b.iters) reads_ahead |= uses_var(i.binding, l->var.get()) && uses_var(b.value, i.var.get());
    for (const BufferNode* read : b.buffers_read()) reads_it |= read->name == of;
  });
  HONE_USER_CHECK(reads_ahead) << "annotate: nothing that " << describe(l) << " reads moves with it";
  HONE_USER_CHECK(reads_it) << "annotate: nothing below " << describe(l) << " reads a buffer '" << of << "'";
  l->prefetch = value;
  l->prefetch_of = of;
  record(Primitive::kAnnotateLoop, {ref.id, value}, std::string(key),
         fmt::format("annotate({}, {}, {})", l->var->name, key, value));
}

}  // namespace hone
