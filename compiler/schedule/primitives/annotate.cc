// set_scope: where a stage's buffer lives.   annotate: facts for the code generator that change no meaning.
#include <fmt/format.h>

#include "compiler/schedule/schedule.h"

namespace hone {

void Schedule::set_scope(BlockRef ref, BufferScope scope) {
  TreeNode* leaf = live_block(ref, "set_scope");
  const Buffer from = leaf->block->out;
  HONE_USER_CHECK(scope != BufferScope::kParam && from->scope != BufferScope::kParam) << "set_scope: '" << from->name << "' of stage '" << leaf->block->name << "' is " << name_of(from->scope) << " and cannot become " << name_of(scope);
  replace_buffer(from, make_buffer(from->name, from->dtype, from->shape, scope), nullptr);
  record(Primitive::kSetScope, {ref.id, static_cast<int64_t>(scope)}, "", fmt::format("set_scope({}, {})", leaf->block->name, name_of(scope)));
}

void Schedule::annotate(std::string_view key, int64_t value) {
  HONE_USER_CHECK(key == "vector_bits") << "annotate: unknown key '" << key << "'; known: vector_bits";
  annotations_.emplace_back(key, value);
  record(Primitive::kAnnotate, {value}, std::string(key), fmt::format("annotate({}, {})", key, value));
}

}  // namespace hone
