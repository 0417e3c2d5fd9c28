#include "compiler/ops/rewrite/split_reduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "compiler/ir/mutator.h"
#include "compiler/ops/rewrite/replace_stage.h"

namespace hone {
namespace {

using Stage = Ref<const TensorNode>;

// A stage under construction, with axes of its own and a map from the axes of the stage it is made from.
struct Draft {
  TensorNode* node = new TensorNode;
  Stage owner{node};
  VarMap map;

  Draft(const std::string& name, DType t, ReduceKind kind) {
    node->name = name;
    node->reduce = kind;
    node->buffer = nullptr;
    type = t;
  }
  Expr axis(const std::string& name, int64_t extent) {
    node->axes.push_back({Var(name), extent});
    node->shape.push_back(extent);
    return node->axes.back();
  }
  Expr reduce_axis(const std::string& name, int64_t extent) {
    node->reduce_axes.push_back({Var(name), extent});
    return node->reduce_axes.back();
  }
  /// Axes like those of `from`, standing for them.
  std::vector<Expr> copy_axes(const TensorNode* from) {
    std::vector<Expr> out;
    for (const Axis& a : from->axes) {
      out.push_back(axis(a.var->name, a.extent));
      map.emplace_back(a.var.get(), out.back());
    }
    return out;
  }
  Stage finish(const Expr& body, const std::vector<Stage>& inputs, const Buffer& buffer = nullptr) {
    node->body = body;
    node->inputs = inputs;
    node->buffer = buffer ? buffer : make_buffer(node->name, type, node->shape, BufferScope::kWorkspace);
    if (node->reduce_axes.empty()) node->reduce = ReduceKind::kNone;
    return owner;
  }
  DType type;
};

Expr element(const Stage& t, std::vector<Expr> i, const Expr& last) {
  i.push_back(last);
  return load(t->buffer, std::move(i));
}

// Maps all reduction axes but the last to new ones; the last one becomes `last()`.
void copy_reduction(const TensorNode* from, Draft* to, const std::function<Expr()>& last) {
  for (size_t a = 0; a + 1 < from->reduce_axes.size(); ++a) {
    const Axis& axis = from->reduce_axes[a];
    to->map.emplace_back(axis.var.get(), to->reduce_axis(axis.var->name, axis.extent));
  }
  to->map.emplace_back(from->reduce_axes.back().var.get(), last());
}

Stage in_chunks(const TensorNode* r, int64_t chunks) {
  const Axis& first = r->reduce_axes.front();
  const int64_t length = ceil_div(first.extent, chunks);
  Draft d(r->name + "_chunk", r->buffer->dtype, r->reduce);
  const Expr chunk = d.axis("chunk", chunks);
  d.copy_axes(r);
  for (size_t a = 0; a < r->reduce_axes.size(); ++a) {
    const Axis& axis = r->reduce_axes[a];
    const Expr k = d.reduce_axis(axis.var->name, a == 0 ? length : axis.extent);
    d.map.emplace_back(axis.var.get(), a == 0 ? chunk * length + k : k);
  }
  Expr body = substitute(r->body, d.map);
  if (first.extent % chunks != 0)
    body = select(lt(substitute(first.var, d.map), first.extent), body, reduce_identity(r->reduce, r->buffer->dtype));
  return d.finish(body, r->inputs);
}

// The stage's value from partial results in `lanes` lanes; adds the names of the partial stages to *partials.
Stage in_lanes(const TensorNode* r, int64_t lanes, int64_t warp, std::vector<std::string>* partials) {
  const int64_t extent = r->reduce_axes.back().extent, whole = extent / lanes, rest = extent % lanes;
  const DType t = r->buffer->dtype;
  Stage main, tail, value;
  if (whole > 0) {
    Draft d(r->name + "_main", t, r->reduce);
    d.copy_axes(r);
    const Expr lane = d.axis("lane", lanes);
    copy_reduction(r, &d, [&] { return d.reduce_axis(r->reduce_axes.back().var->name, whole) * lanes + lane; });
    value = main = d.finish(substitute(r->body, d.map), r->inputs);
    partials->push_back(main->name);
  }
  if (rest > 0) {
    Draft d(r->name + "_tail", t, r->reduce);
    d.copy_axes(r);
    const Expr lane = d.axis("lane", lanes);
    copy_reduction(r, &d, [&] { return lane + whole * lanes; });
    value = tail =
        d.finish(select(lt(lane, rest), substitute(r->body, d.map), reduce_identity(r->reduce, t)), r->inputs);
    partials->push_back(tail->name);
  }
  if (main && tail) {
    Draft d(r->name + "_lanes", t, ReduceKind::kNone);
    const std::vector<Expr> at = d.copy_axes(r);
    const Expr lane = d.axis("lane", lanes);
    value = d.finish(reduce_combine(r->reduce, element(main, at, lane), element(tail, at, lane)), {main, tail});
    partials->push_back(value->name);
  }
  if (warp > 1) {
    Draft d(r->name + "_warps", t, r->reduce);
    const std::vector<Expr> at = d.copy_axes(r);
    const Expr lane = d.axis("lane", lanes), own = floor_div(lane, warp) * warp;
    value = d.finish(element(value, at, own + d.reduce_axis("of_warp", warp)), {value});
    partials->push_back(value->name);
    Draft all(r->name, t, ReduceKind::kNone);
    const std::vector<Expr> there = all.copy_axes(r);
    all.node->caller_shape = r->caller_shape;
    Expr result = element(value, there, make_int(0));
    for (int64_t w = warp; w < lanes; w += warp)
      result = reduce_combine(r->reduce, result, element(value, there, make_int(w)));
    return all.finish(result, {value}, r->buffer);
  }
  for (int64_t width = lanes / 2; width > 1; width /= 2) {
    Draft d(fmt::format("{}_{}", r->name, width), t, ReduceKind::kNone);
    const std::vector<Expr> at = d.copy_axes(r);
    const Expr lane = d.axis("lane", width);
    value = d.finish(reduce_combine(r->reduce, element(value, at, lane), element(value, at, lane + width)), {value});
    partials->push_back(value->name);
  }
  Draft d(r->name, t, ReduceKind::kNone);
  const std::vector<Expr> at = d.copy_axes(r);
  d.node->caller_shape = r->caller_shape;
  return d.finish(reduce_combine(r->reduce, element(value, at, make_int(0)), element(value, at, make_int(1))), {value},
                  r->buffer);
}

}  // namespace

const TensorNode* only_reduction(const Definition& d) {
  const TensorNode* found = nullptr;
  for (const TensorNode* t : stages_of(d)) {
    if (t->reduce == ReduceKind::kNone) continue;
    HONE_USER_CHECK(!found) << "stages '" << found->name << "' and '" << t->name
                            << "' are both reductions; a fused group has one";
    found = t;
  }
  return found;
}

ReductionSplit split_reduction(const Definition& d, int64_t chunks, int64_t lanes, int64_t warp) {
  const TensorNode* r = only_reduction(d);
  HONE_ICHECK(r) << "nothing to split: no stage is a reduction";
  return split_reduction(d, r->name, chunks, lanes, warp);
}

ReductionSplit split_reduction(const Definition& d, const std::string& stage, int64_t chunks, int64_t lanes,
                               int64_t warp) {
  const TensorNode* r = nullptr;
  for (const TensorNode* t : stages_of(d))
    if (t->name == stage && t->reduce != ReduceKind::kNone) r = t;
  HONE_ICHECK(r && (lanes & (lanes - 1)) == 0 && lanes >= 1 && chunks >= 1)
      << "nothing to split in " << lanes << " lanes and " << chunks << " chunks";
  HONE_ICHECK(warp >= 1 && lanes % warp == 0) << lanes << " lanes are no warps of " << warp;
  ReductionSplit out;
  Stage replacement;
  if (chunks > 1) {
    Stage chunk = in_chunks(r, chunks);
    out.chunk = chunk->name;
    if (lanes > 1) chunk = in_lanes(chunk.get(), lanes, warp, &out.partials);
    Draft final(r->name, r->buffer->dtype, r->reduce);
    std::vector<Expr> at = final.copy_axes(r);
    at.insert(at.begin(), final.reduce_axis("chunk", chunks));
    final.node->caller_shape = r->caller_shape;
    replacement = final.finish(load(chunk->buffer, at), {chunk}, r->buffer);
  } else if (lanes > 1) {
    replacement = in_lanes(r, lanes, warp, &out.partials);
  }
  out.definition.inputs = d.inputs;
  StageReplacer replaced;
  if (replacement) replaced.replace(r, replacement);
  for (const Tensor& t : d.outputs) out.definition.outputs.push_back(Tensor(replaced(t.node())));
  out.definition.factor_error = d.factor_error;
  return out;
}

}  // namespace hone
