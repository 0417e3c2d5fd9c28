// prepack: nests leave the program for one that runs ahead of it, once.
#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/visitor.h"
#include "compiler/schedule/schedule.h"

namespace hone {
namespace {

bool holds(const std::vector<Buffer>& list, const Buffer& buffer) {
  return std::any_of(list.begin(), list.end(), [&](const Buffer& b) { return b.same_as(buffer); });
}

// Every buffer that is loaded.
class Loads final : public Visitor {
 public:
  std::vector<Buffer> buffers;

 protected:
  using Visitor::visit;
  void visit(const Load* op) override {
    Visitor::visit(op);
    if (!holds(buffers, op->buffer)) buffers.push_back(op->buffer);
  }
};

}  // namespace

void Schedule::prepack(const std::vector<BlockRef>& results) {
  HONE_USER_CHECK(!results.empty()) << "prepack: no stage is given";
  std::vector<TreeNode*> nests;
  std::vector<Buffer> packed;
  std::vector<int64_t> ids;
  std::vector<std::string> stages;
  for (const BlockRef result : results) {
    TreeNode* nest = live_block(result, "prepack");
    packed.push_back(nest->block->out);
    ids.push_back(result.id);
    stages.push_back(nest->block->name);
    HONE_USER_CHECK(packed.back()->scope == BufferScope::kWorkspace)
        << "prepack: stage '" << nest->block->name << "': its result is a " << name_of(packed.back()->scope)
        << " buffer; only one in the workspace can be made ahead";
    HONE_USER_CHECK(std::count(ids.begin(), ids.end(), result.id) == 1)
        << "prepack: stage '" << nest->block->name << "' is given twice";
    while (nest->parent->is_loop()) nest = nest->parent;
    if (std::find(nests.begin(), nests.end(), nest) == nests.end()) nests.push_back(nest);
  }
  const std::string names = absl::StrJoin(stages, ", ");
  const std::string what = fmt::format("prepack: stage{} '{}'", results.size() > 1 ? "s" : "", names);
  const auto is_packed = [&](const Buffer& b) { return holds(packed, b); };
  Loads loads;
  std::vector<Buffer> own;
  for (TreeNode* nest : nests)
    for_each_block(nest, [&](Block& b, TreeNode* n) {
      loads(b.value);
      if (!is_packed(b.out)) own.push_back(b.out);
      HONE_USER_CHECK(is_packed(b.out) || b.out->scope == BufferScope::kStack)
          << what << ": stage '" << b.name
          << "' beside it needs a workspace, which a prepack lacks; set_scope it to the stack";
      for (const TreeNode* l = n->parent; l != nest->parent; l = l->parent)
        HONE_USER_CHECK(!is_concurrent(l->loop))
            << what << ": " << describe(l) << " is " << name_of(l->loop) << "; a prepack runs on one thread";
    });
  std::erase_if(loads.buffers, [&](const Buffer& b) { return holds(own, b) || is_packed(b); });
  HONE_USER_CHECK(loads.buffers.size() == 1) << what << ": it reads " << loads.buffers.size()
                                             << " tensors besides its own; it must read one constant parameter";
  const Buffer logical = loads.buffers[0];
  const auto param =
      std::find_if(params_.begin(), params_.end(), [&](const ScheduledParam& p) { return p.buffer.same_as(logical); });
  HONE_USER_CHECK(param != params_.end() && param->role == ParamRole::kConstant)
      << what << ": it reads '" << logical->name << "', which is not a constant parameter";
  HONE_USER_CHECK(param->layout == Layout::identity(param->shape))
      << what << ": the layout of '" << logical->name << "' was transformed; a prepack takes the tensor as it is";
  for_each_block(root_.get(), [&](Block& b, TreeNode* n) {
    if (std::any_of(nests.begin(), nests.end(), [&](const TreeNode* nest) { return nest->contains(n); })) return;
    HONE_USER_CHECK(!is_packed(b.out)) << what << ": stage '" << b.name << "' writes '" << b.out->name << "' too";
    HONE_USER_CHECK(!reads(b, logical)) << what << ": stage '" << b.name << "' reads '" << logical->name << "' as well";
    for (const Buffer& o : own)
      HONE_USER_CHECK(!reads(b, o)) << what << ": stage '" << b.name << "' reads '" << o->name
                                    << "', which is not kept";
  });

  PrepackNest made{static_cast<int>(param - params_.begin()), logical, {}, std::make_unique<TreeNode>()};
  for (const Buffer& b : packed) {
    made.packed.push_back(make_buffer(b->name, b->dtype, b->shape, BufferScope::kParam));
    replace_buffer(b, made.packed.back(), nullptr);
  }
  param->packed = made.packed;
  const std::string text = fmt::format("prepack({})", names);
  std::sort(nests.begin(), nests.end(), &stands_before);
  for (size_t i = 0; i < nests.size(); ++i) attach(made.root.get(), i, detach(nests[i]));
  prepacks_.push_back(std::move(made));
  refresh(text);
  record(Primitive::kPrepack, std::move(ids), "", text);
}

}  // namespace hone
