#include "compiler/ir/queries.h"

#include "compiler/ir/visitor.h"

namespace hone {

bool reads_memory(const Expr& e) {
  class Finder final : public Visitor {
   public:
    bool found = false;

   protected:
    using Visitor::visit;
    void visit(const Load*) override { found = true; }
  } finder;
  finder(e);
  return finder.found;
}

int64_t elements_of(const BufferNode* b) {
  int64_t n = 1;
  for (const Expr& e : b->shape) {
    const auto extent = as_const_int(e);
    HONE_USER_CHECK(extent) << "buffer '" << b->name << "' has no constant size; shape variables are not supported yet";
    n *= *extent;
  }
  return n;
}

}  // namespace hone
