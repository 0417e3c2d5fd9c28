#include "compiler/lower/replace_buffers.h"

#include "compiler/ir/mutator.h"

namespace hone {
namespace {

class Replacer final : public Mutator {
 public:
  explicit Replacer(const std::vector<BufferReplacement>& replacements) : replacements_(replacements) {}

 protected:
  using Mutator::visit;
  Expr visit(const Load* op) override {
    auto [buffer, indices] = replaced(op->buffer, op->indices);
    return load(std::move(buffer), std::move(indices));
  }
  Stmt visit(const Store* op) override {
    auto [buffer, indices] = replaced(op->buffer, op->indices);
    return make_store(std::move(buffer), std::move(indices), (*this)(op->value), (*this)(op->mask));
  }
  Stmt visit(const Prefetch* op) override {
    auto [buffer, indices] = replaced(op->buffer, op->indices);
    return make_prefetch(std::move(buffer), std::move(indices));
  }

 private:
  std::pair<Buffer, std::vector<Expr>> replaced(const Buffer& b, const std::vector<Expr>& at) {
    std::vector<Expr> indices;
    mutate_all(at, &indices);
    for (const BufferReplacement& r : replacements_) {
      if (!r.from.same_as(b)) continue;
      if (r.offset) indices[0] = indices[0] + r.offset;
      return {r.to, std::move(indices)};
    }
    return {b, std::move(indices)};
  }

  const std::vector<BufferReplacement>& replacements_;
};

}  // namespace

Stmt replace_buffers(const Stmt& s, const std::vector<BufferReplacement>& replacements) {
  return Replacer(replacements)(s);
}

}  // namespace hone
