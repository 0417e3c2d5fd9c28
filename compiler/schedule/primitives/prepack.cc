// prepack(U):
// for i: U[i] = f(W[i])            before, once:                      for i: U[i] = f(W[i])
// for i: C[i] = g(U[i])       ->   kernel, which takes U instead of W: for i: C[i] = g(U[i])
#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/visitor.h"
#include "compiler/schedule/schedule.h"

namespace hone {
namespace {

// Every buffer that is loaded.
class Loads final : public Visitor {
 public:
  std::vector<Buffer> buffers;

 protected:
  using Visitor::visit;
  void visit(const Load* op) override {
    Visitor::visit(op);
    if (std::none_of(buffers.begin(), buffers.end(), [&](const Buffer& b) { return b.same_as(op->buffer); }))
      buffers.push_back(op->buffer);
  }
};

}  // namespace

void Schedule::prepack(BlockRef result) {
  TreeNode* leaf = live_block(result, "prepack");
  const Buffer packed = leaf->block->out;
  const std::string what = fmt::format("prepack: stage '{}'", leaf->block->name);
  HONE_USER_CHECK(packed->scope == BufferScope::kWorkspace) << what << ": its result is a " << name_of(packed->scope)
                                                            << " buffer; only one in the workspace can be made ahead";
  TreeNode* nest = leaf;
  while (nest->parent->is_loop()) nest = nest->parent;
  Loads loads;
  std::vector<Buffer> own;
  for_each_block(nest, [&](Block& b, TreeNode* n) {
    loads(b.value);
    if (!b.out.same_as(packed)) own.push_back(b.out);
    HONE_USER_CHECK(b.out.same_as(packed) || b.out->scope == BufferScope::kStack)
        << what << ": stage '" << b.name
        << "' beside it needs a workspace, which a prepack lacks; set_scope it to the stack";
    for (const TreeNode* l = n->parent; l != nest->parent; l = l->parent)
      HONE_USER_CHECK(!is_concurrent(l->loop))
          << what << ": " << describe(l) << " is " << name_of(l->loop) << "; a prepack runs on one thread";
  });
  const auto is_own = [&](const Buffer& b) {
    return std::any_of(own.begin(), own.end(), [&](const Buffer& o) { return o.same_as(b); });
  };
  std::erase_if(loads.buffers, [&](const Buffer& b) { return is_own(b) || b.same_as(packed); });
  HONE_USER_CHECK(loads.buffers.size() == 1) << what << ": it reads " << loads.buffers.size()
                                             << " tensors besides its own; it must read one constant parameter";
  const Buffer logical = loads.buffers[0];
  const auto param =
      std::find_if(params_.begin(), params_.end(), [&](const ScheduledParam& p) { return p.buffer.same_as(logical); });
  HONE_USER_CHECK(param != params_.end() && param->role == ParamRole::kConstant)
      << what << ": it reads '" << logical->name << "', which is no constant parameter";
  HONE_USER_CHECK(param->layout == Layout::identity(param->shape))
      << what << ": the layout of '" << logical->name << "' was transformed; a prepack takes the tensor as it is";
  for_each_block(root_.get(), [&](Block& b, TreeNode* n) {
    if (nest->contains(n)) return;
    HONE_USER_CHECK(!b.out.same_as(packed)) << what << ": stage '" << b.name << "' writes '" << packed->name << "' too";
    HONE_USER_CHECK(!reads(b, logical)) << what << ": stage '" << b.name << "' reads '" << logical->name << "' as well";
    for (const Buffer& o : own)
      HONE_USER_CHECK(!reads(b, o)) << what << ": stage '" << b.name << "' reads '" << o->name
                                    << "', which is not kept";
  });

  PrepackNest made{static_cast<int>(param - params_.begin()), logical,
                   make_buffer(packed->name, packed->dtype, packed->shape, BufferScope::kParam),
                   std::make_unique<TreeNode>()};
  replace_buffer(packed, made.packed, nullptr);
  param->buffer = made.packed;
  const std::string text = fmt::format("prepack({})", leaf->block->name);
  attach(made.root.get(), 0, detach(nest));
  prepacks_.push_back(std::move(made));
  refresh(text);
  record(Primitive::kPrepack, {result.id}, "", text);
}

}  // namespace hone
