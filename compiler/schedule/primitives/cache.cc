// cache_read and cache_write: a copy of a whole buffer, in a nest of its own in front of the reader's or behind the
// writer's. compute_at then moves it to where a part of it is enough.
#include <fmt/format.h>

#include "compiler/schedule/schedule.h"

namespace hone {
namespace {

class LoadRedirector final : public Mutator {
 public:
  LoadRedirector(const Buffer& from, const Buffer& to) : Mutator(Sharing::kKept), from_(from), to_(to) {}

 protected:
  using Mutator::visit;
  Expr visit(const Load* op) override {
    std::vector<Expr> indices;
    const bool changed = mutate_all(op->indices, &indices);
    if (op->buffer.same_as(from_)) return load(to_, std::move(indices));
    return changed ? load(op->buffer, std::move(indices)) : Expr(op);
  }

 private:
  const Buffer &from_, &to_;
};

}  // namespace

BlockRef Schedule::cache_read(std::string_view buffer, BlockRef reader, BufferScope scope) {
  TreeNode* r = live_block(reader, "cache_read");
  const Buffer from = buffer_named(buffer, "cache_read");
  HONE_USER_CHECK(reads(*r->block, from))
      << "cache_read: stage '" << r->block->name << "' does not read '" << buffer << "'";
  HONE_USER_CHECK(scope != BufferScope::kParam) << "cache_read: a cache of '" << buffer << "' cannot be a parameter";
  TreeNode* top = top_of(r);
  for_each_block(root_.get(), [&](Block& b, TreeNode* n) {
    HONE_USER_CHECK(!top->contains(n) || !b.out.same_as(from))
        << "cache_read: stage '" << b.name << "' writes '" << buffer << "' in the nest of '" << r->block->name
        << "' that reads it; cache_read comes before compute_at";
  });
  const std::string name = unique_name(std::string(buffer) + "_cache");
  const Buffer cache = make_buffer(name, from->dtype, from->shape, scope);
  BlockRef ref;
  auto nest = make_nest(make_block(copy_block(name, from, cache), &ref));
  r->block->value = LoadRedirector(from, cache)(r->block->value);
  attach(top->parent, top->position(), std::move(nest));
  record(Primitive::kCacheRead, {reader.id, static_cast<int64_t>(scope)}, std::string(buffer),
         fmt::format("cache_read({}, {}, {}) -> {}", buffer, r->block->name, name_of(scope), name));
  return ref;
}

BlockRef Schedule::cache_write(BlockRef writer, BufferScope scope) {
  TreeNode* w = live_block(writer, "cache_write");
  Block& block = *w->block;
  HONE_USER_CHECK(scope != BufferScope::kParam)
      << "cache_write: a cache of stage '" << block.name << "' cannot be a parameter";
  HONE_USER_CHECK(!block.is_scan()) << "cache_write: stage '" << block.name << "' is a scan, which reads what it wrote";
  HONE_USER_CHECK(block.reduce == ReduceKind::kNone || block.initializes)
      << "cache_write: the reduction of stage '" << block.name << "' is decomposed; cache_write comes first";
  for (size_t d = 0; d < block.indices.size(); ++d)
    HONE_USER_CHECK(block.indices[d].get() == block.iters[d].var.get())
        << "cache_write: the layout of stage '" << block.name << "' was transformed; cache_write comes first";
  const Buffer to = block.out;
  TreeNode* top = top_of(w);
  for_each_block(root_.get(), [&](Block& b, TreeNode* n) {
    HONE_USER_CHECK(n == w || !b.out.same_as(to))
        << "cache_write: stage '" << b.name << "' writes '" << to->name << "' too, besides '" << block.name << "'";
    HONE_USER_CHECK(!top->contains(n) || !reads(b, to))
        << "cache_write: stage '" << b.name << "' reads '" << to->name
        << "' in the nest that writes it; cache_write comes before compute_at";
  });
  const std::string name = unique_name(block.name + "_write");
  const Buffer cache = make_buffer(block.name + "_cache", to->dtype, to->shape, scope);
  block.out = cache;
  BlockRef ref;
  auto nest = make_nest(make_block(copy_block(name, cache, to), &ref));
  attach(top->parent, top->position() + 1, std::move(nest));
  record(Primitive::kCacheWrite, {writer.id, static_cast<int64_t>(scope)}, "",
         fmt::format("cache_write({}, {}) -> {}", block.name, name_of(scope), name));
  return ref;
}

}  // namespace hone
