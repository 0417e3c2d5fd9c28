// reorder: the named loops take each other's places; loops between them stay.
#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>

#include "compiler/schedule/schedule.h"

namespace hone {
namespace {

// That no loop over a scan passes another one, also of those between. `slots`, innermost first, are the places of
// `order`, outermost first.
void check_scans(TreeNode* innermost, const std::vector<TreeNode*>& slots, const std::vector<TreeNode*>& order) {
  for_each_block(innermost, [&](Block& b, TreeNode*) {
    if (!b.is_scan()) return;
    std::vector<const TreeNode*> before, now;  // innermost first
    size_t next = order.size();
    for (const TreeNode* n = slots.front();; n = n->parent) {
      const bool is_slot = std::find(slots.begin(), slots.end(), n) != slots.end();
      const TreeNode* put = is_slot ? order[--next] : n;
      if (b.keeps_order_of(n->var.get())) before.push_back(n);
      if (b.keeps_order_of(put->var.get())) now.push_back(put);
      if (n == slots.back()) break;
    }
    HONE_USER_CHECK(before == now) << "reorder: the loops of the scan of stage '" << b.name
                                   << "' are to stay in their order: its steps follow each other";
  });
}

}  // namespace

void Schedule::reorder(const std::vector<LoopRef>& order) {
  std::vector<TreeNode*> nodes;
  for (LoopRef r : order) {
    TreeNode* n = live_loop(r, "reorder");
    HONE_USER_CHECK(std::find(nodes.begin(), nodes.end(), n) == nodes.end())
        << "reorder: " << describe(n) << " is named twice";
    HONE_USER_CHECK(n->loop == LoopKind::kSerial)
        << "reorder: " << describe(n) << " is already " << name_of(n->loop) << "; reorder first";
    nodes.push_back(n);
  }
  if (nodes.size() < 2) return;
  // The innermost of them is the one that all others contain; from it upwards they must form one chain.
  TreeNode* innermost = nodes[0];
  for (TreeNode* n : nodes)
    if (innermost->contains(n)) innermost = n;
  std::vector<TreeNode*> slots;  // innermost first
  for (TreeNode* n = innermost; n && slots.size() < nodes.size(); n = n->parent) {
    if (std::find(nodes.begin(), nodes.end(), n) != nodes.end()) slots.push_back(n);
    if (slots.size() == nodes.size()) break;
    HONE_USER_CHECK(n->parent && n->parent->is_loop())
        << "reorder: " << describe(nodes[0]) << " and " << describe(nodes[1]) << " are not in one nest";
    HONE_USER_CHECK(n->parent->children.size() == 1)
        << "reorder: " << describe(n) << " shares the body of '" << n->parent->var->name << "' with other statements";
  }
  check_scans(innermost, slots, nodes);
  // Loops differ by variable, extent, kind, number and annotation only: exchange those between the positions.
  struct Face {
    Var var;
    int64_t extent;
    LoopKind loop;
    int id;
    int64_t prefetch;
    std::string prefetch_of;
    int64_t limit;
    std::string limit_of;
  };
  std::vector<Face> faces;
  std::vector<std::string> names;
  for (TreeNode* n : nodes) {
    faces.push_back({n->var, n->extent, n->loop, n->loop_id, n->prefetch, n->prefetch_of, n->limit, n->limit_of});
    names.push_back(n->var->name);
  }
  for (size_t i = 0; i < faces.size(); ++i) {
    TreeNode* slot = slots[slots.size() - 1 - i];
    slot->var = faces[i].var;
    slot->extent = faces[i].extent;
    slot->loop = faces[i].loop;
    slot->prefetch = faces[i].prefetch;
    slot->prefetch_of = faces[i].prefetch_of;
    slot->limit = faces[i].limit;
    slot->limit_of = faces[i].limit_of;
    slot->loop_id = faces[i].id;
    loops_[static_cast<size_t>(faces[i].id)] = slot;
  }
  std::vector<int64_t> ids;
  for (LoopRef r : order) ids.push_back(r.id);
  record(Primitive::kReorder, std::move(ids), "", fmt::format("reorder({})", absl::StrJoin(names, ", ")));
}

}  // namespace hone
