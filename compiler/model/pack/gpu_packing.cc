#include "compiler/model/pack/gpu_packing.h"

#include "compiler/lower/layout_functions.h"

namespace hone {
namespace {

// The outermost loop over blocks, the one in it over threads where a block may have so many.
Stmt bound(const Stmt& nest, int64_t max_threads) {
  const For* outer = as<For>(nest);
  if (!outer) return nest;
  Stmt body = outer->body;
  const For* inner = as<For>(body);
  const auto extent = inner ? as_const_int(inner->extent) : std::nullopt;
  if (extent && *extent <= max_threads)
    body = make_for(inner->var, inner->min, inner->extent, LoopKind::kThread, inner->body);
  return make_for(outer->var, outer->min, outer->extent, LoopKind::kBlock, body);
}

}  // namespace

Module gpu_plain_module(const Module& m, const Target& target, const std::vector<bool>& is_packed) {
  bool is_plain = true;
  for (size_t p = 0; p < m.params.size(); ++p)
    is_plain = is_plain && (is_packed[p] || m.params[p].layout == Layout::identity(m.params[p].shape));
  if (is_plain) return m;
  return plain_module(m, is_packed, [&](const Stmt& nest) { return bound(nest, target.max_threads); });
}

}  // namespace hone
