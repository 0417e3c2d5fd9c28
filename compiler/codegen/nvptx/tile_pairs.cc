#include "compiler/codegen/nvptx/tile_pairs.h"

#include <map>
#include <optional>

#include "compiler/arith/linear.h"
#include "compiler/ir/visitor.h"

namespace hone {
namespace {

constexpr int64_t kColumns = 8;  // of a tile

// Products whose tiles of B differ in a constant.
struct Alike {
  const TensorNest* nest;  // of the first one
  Linear tile;             // where its B begins
  std::map<int64_t, std::vector<const For*>> by_distance;
};

class Pairer final : public Visitor {
 public:
  explicit Pairer(const std::unordered_map<const For*, TensorProduct>& products) : products_(products) {}
  std::unordered_map<const For*, TilePair> out;

 protected:
  using Visitor::visit;
  void visit(const Seq* op) override {
    std::vector<Alike> run;
    for (const Stmt& s : op->stmts) {
      const For* loop = as<For>(s);
      const auto product = loop ? products_.find(loop) : products_.end();
      if (product != products_.end()) {
        add(product->second.nest, loop, &run);
        continue;
      }
      pair(run);
      run.clear();
      (*this)(s);
    }
    pair(run);
  }

 private:
  static void add(const TensorNest& nest, const For* loop, std::vector<Alike>* run) {
    const auto tile = linear_of(nest.b.tile);
    if (!tile) return;
    for (Alike& other : *run) {
      const TensorNest::Operand& b = other.nest->b;
      const auto apart = hone::add(*tile, other.tile, -1);
      if (!b.buffer.same_as(nest.b.buffer) || b.stride != nest.b.stride || b.stride_k != nest.b.stride_k || !apart ||
          !apart->is_constant())
        continue;
      other.by_distance[apart->constant].push_back(loop);
      return;
    }
    run->push_back({&nest, *tile, {{0, {loop}}}});
  }

  void pair(const std::vector<Alike>& run) {
    for (const Alike& alike : run) {
      const int64_t apart = kColumns * alike.nest->b.stride;
      std::map<int64_t, std::vector<const For*>> rest = alike.by_distance;
      while (!rest.empty()) {
        const auto first = rest.begin(), second = rest.find(first->first + apart);
        if (second != rest.end()) {
          Linear tile = alike.tile;
          tile.constant += first->first;
          for (const For* loop : first->second) out[loop] = {tile.to_expr(), apart, false};
          for (const For* loop : second->second) out[loop] = {tile.to_expr(), apart, true};
          rest.erase(second);
        }
        rest.erase(rest.begin());
      }
    }
  }

  const std::unordered_map<const For*, TensorProduct>& products_;
};

}  // namespace

std::unordered_map<const For*, TilePair> pair_tiles(const Stmt& body,
                                                    const std::unordered_map<const For*, TensorProduct>& products) {
  Pairer pairer(products);
  pairer(body);
  return std::move(pairer.out);
}

}  // namespace hone
