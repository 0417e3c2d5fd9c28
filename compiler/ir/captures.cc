#include "compiler/ir/captures.h"

#include <algorithm>

#include "compiler/ir/visitor.h"

namespace hone {
namespace {

class Collector final : public Visitor {
 public:
  explicit Collector(const std::function<const BufferNode*(const BufferNode*)>& original) : original_(original) {}
  Captures out;

 protected:
  using Visitor::visit;
  void visit(const VarNode* op) override { add(op, own_vars_, &out.vars); }
  void visit(const For* op) override {
    own_vars_.push_back(op->var.get());
    Visitor::visit(op);
  }
  void visit(const Allocate* op) override {
    own_buffers_.push_back(op->buffer.get());
    Visitor::visit(op);
  }
  void visit(const Load* op) override {
    use(op->buffer.get());
    Visitor::visit(op);
  }
  void visit(const Store* op) override {
    use(op->buffer.get());
    Visitor::visit(op);
  }
  void visit(const Prefetch* op) override {
    use(op->buffer.get());
    Visitor::visit(op);
  }

 private:
  void use(const BufferNode* buffer) { add(original_ ? original_(buffer) : buffer, own_buffers_, &out.buffers); }

  template <class T>
  static void add(const T* what, const std::vector<const T*>& own, std::vector<const T*>* to) {
    const auto has = [what](const std::vector<const T*>& list) {
      return std::find(list.begin(), list.end(), what) != list.end();
    };
    if (!has(own) && !has(*to)) to->push_back(what);
  }

  const std::function<const BufferNode*(const BufferNode*)>& original_;
  std::vector<const VarNode*> own_vars_;
  std::vector<const BufferNode*> own_buffers_;
};

}  // namespace

Captures captures_of(const For* loop, const std::function<const BufferNode*(const BufferNode*)>& original) {
  Collector collector(original);
  collector(loop->body);
  std::erase(collector.out.vars, loop->var.get());
  return std::move(collector.out);
}

}  // namespace hone
