#include "compiler/codegen/llvm/kernel/checked_accesses.h"

#include <iterator>
#include <unordered_set>

#include "compiler/arith/unproved_accesses.h"
#include "compiler/ir/mutator.h"

namespace hone {
namespace {

class Marker final : public Mutator {
 public:
  Marker(const std::vector<const void*>& nodes, std::vector<std::pair<Buffer, Buffer>>* aliases)
      : nodes_(nodes.begin(), nodes.end()), aliases_(aliases) {}

 protected:
  using Mutator::visit;
  Expr visit(const Load* op) override {
    const Expr walked = Mutator::visit(op);
    return nodes_.count(op) ? load(alias_of(op->buffer), as<Load>(walked)->indices) : walked;
  }
  Stmt visit(const Store* op) override {
    Stmt walked = Mutator::visit(op);
    if (!nodes_.count(op)) return walked;
    const Store* store = as<Store>(walked);
    return make_store(alias_of(op->buffer), store->indices, store->value, store->mask);
  }

 private:
  Buffer alias_of(const Buffer& buffer) {
    for (const auto& [alias, original] : *aliases_)
      if (original.same_as(buffer)) return alias;
    aliases_->emplace_back(make_buffer(buffer->name, buffer->dtype, buffer->shape, buffer->scope), buffer);
    return aliases_->back().first;
  }
  std::unordered_set<const void*> nodes_;
  std::vector<std::pair<Buffer, Buffer>>* aliases_;
};

}  // namespace

const BufferNode* CheckedAccesses::original(const BufferNode* buffer) const {
  for (const auto& [alias, original] : aliases)
    if (alias.get() == buffer) return original.get();
  return buffer;
}

CheckedAccesses mark_checked_accesses(const Stmt& s, const std::vector<const void*>& nodes) {
  CheckedAccesses out;
  out.body = nodes.empty() ? s : Marker(nodes, &out.aliases)(s);
  return out;
}

CheckedAccesses with_late_checks(CheckedAccesses checked, const Stmt& legalized) {
  const auto is_alias = [&](const BufferNode* b) { return checked.original(b) != b; };
  std::vector<const void*> nodes;
  for (const Unproved& u : unproved_accesses(legalized, {{}, is_alias})) nodes.push_back(u.node);
  CheckedAccesses late = mark_checked_accesses(legalized, nodes);
  checked.body = std::move(late.body);
  std::move(late.aliases.begin(), late.aliases.end(), std::back_inserter(checked.aliases));
  return checked;
}

}  // namespace hone
