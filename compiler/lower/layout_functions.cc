#include "compiler/lower/layout_functions.h"

#include "compiler/arith/simplify.h"
#include "compiler/lower/plan_storage.h"
#include "compiler/lower/replace_buffers.h"

namespace hone {
namespace {

// Loops over `extents`, the outermost parallel; body(loop variables).
template <class Body>
Stmt nest(const std::vector<int64_t>& extents, const std::string& prefix, const Body& body) {
  std::vector<Expr> indices;
  std::vector<Var> vars;
  for (size_t d = 0; d < extents.size(); ++d) {
    vars.emplace_back(prefix + std::to_string(d));
    indices.push_back(vars.back());
  }
  Stmt s = body(indices);
  for (size_t d = extents.size(); d-- > 0;)
    s = make_for(vars[d], make_int(0), make_int(extents[d]), d == 0 ? LoopKind::kParallel : LoopKind::kSerial, s);
  return simplify(s);
}

Expr flat_index(const std::vector<Expr>& indices, const std::vector<int64_t>& shape) {
  Expr flat = make_int(0);
  for (size_t d = 0; d < shape.size(); ++d) flat = flat * shape[d] + indices[d];
  return flat;
}

Buffer flat_buffer(const std::string& name, DType t, int64_t size, BufferScope scope = BufferScope::kParam) {
  return make_buffer(name, t, std::vector<int64_t>{size}, scope);
}

}  // namespace

Stmt pack_statement(const Param& param, const Buffer& logical, const Buffer& packed) {
  const std::vector<int64_t> physical = param.layout.physical_shape();
  return nest(physical, "p", [&](const std::vector<Expr>& p) {
    std::vector<Expr> index(param.shape.size(), make_int(0));
    for (size_t d = 0; d < physical.size(); ++d) {
      const LayoutDim& dim = param.layout.dims[d];
      Expr& i = index[static_cast<size_t>(dim.axis)];
      i = i + p[d] * dim.stride;
    }
    Expr inside = make_bool(true);
    for (size_t a = 0; a < index.size(); ++a) inside = logical_and(inside, lt(index[a], param.shape[a]));
    return make_store(packed, {flat_index(p, physical)},
                      select(inside, load(logical, {flat_index(index, param.shape)}), make_const(0, param.dtype)));
  });
}

Stmt unpack_statement(const Param& param, const Buffer& packed, const Buffer& logical) {
  return nest(param.shape, "i", [&](const std::vector<Expr>& i) {
    std::vector<Expr> p;
    for (const LayoutDim& dim : param.layout.dims) {
      const Expr part = floor_div(i[static_cast<size_t>(dim.axis)], dim.stride);
      p.push_back(dim.stride * dim.extent >= param.shape[static_cast<size_t>(dim.axis)] ? part
                                                                                        : floor_mod(part, dim.extent));
    }
    return make_store(logical, {flat_index(i, param.shape)},
                      load(packed, {flat_index(p, param.layout.physical_shape())}));
  });
}

Function pack_function(const Param& param) {
  Function f;
  f.name = "prepack_" + param.name;
  f.params = {flat_buffer("logical", param.dtype, element_count(param.shape)),
              flat_buffer("packed", param.dtype, param.layout.physical_size())};
  f.body = pack_statement(param, f.params[0], f.params[1]);
  return f;
}

Function unpack_function(const Param& param) {
  Function f;
  f.name = "unpack_" + param.name;
  f.params = {flat_buffer("packed", param.dtype, param.layout.physical_size()),
              flat_buffer("logical", param.dtype, element_count(param.shape))};
  f.body = unpack_statement(param, f.params[0], f.params[1]);
  return f;
}

Module plain_module(const Module& m, const std::vector<bool>& is_packed, const std::function<Stmt(const Stmt&)>& bind) {
  const auto bound = [&](const Stmt& s) { return bind ? bind(s) : s; };
  HONE_ICHECK(m.kernels.size() == 1) << "plain_module takes one kernel";
  const Function& kernel = m.kernels[0];
  Module out = m;
  out.prepacks.clear();
  Function f;
  f.name = kernel.name + "_plain";
  std::vector<BufferReplacement> replaced;
  std::vector<Stmt> before, after;
  std::vector<Buffer> copies;
  size_t next = 0;  // of the kernel's arguments
  for (size_t i = 0; i < m.params.size(); ++i) {
    const Param& p = m.params[i];
    const Prepack* prepack = prepack_of(m, i);
    if (i < is_packed.size() && is_packed[i]) {
      for (size_t a = kernel_arguments(m, i).size(); a > 0; --a) f.params.push_back(kernel.params[next++]);
      if (prepack) out.prepacks.push_back(*prepack);
      continue;
    }
    out.params[i].layout = Layout::identity(p.shape);
    f.params.push_back(flat_buffer(p.name, p.dtype, element_count(p.shape)));
    const Buffer plain = f.params.back();
    if (!prepack && p.layout == out.params[i].layout) {
      replaced.push_back({kernel.params[next++], plain});
      continue;
    }
    std::vector<BufferReplacement> in_prepack;
    if (prepack) in_prepack.push_back({prepack->function.params[0], plain});
    for (const KernelArgument& a : kernel_arguments(m, i)) {
      copies.push_back(flat_buffer(p.name + "_packed", a.dtype, element_count(a.shape), BufferScope::kWorkspace));
      replaced.push_back({kernel.params[next++], copies.back()});
      if (prepack) in_prepack.push_back({prepack->function.params[in_prepack.size()], copies.back()});
    }
    if (prepack)
      before.push_back(bound(replace_buffers(prepack->function.body, in_prepack)));
    else if (p.role == ParamRole::kOutput)
      after.push_back(bound(unpack_statement(p, copies.back(), plain)));
    else
      before.push_back(bound(pack_statement(p, plain, copies.back())));
  }
  before.push_back(replace_buffers(kernel.body, replaced));
  before.insert(before.end(), after.begin(), after.end());
  f.body = make_seq(std::move(before));
  for (const Buffer& b : copies) f.body = make_allocate(b, -1, f.body);
  out.kernels = {plan_storage(f, m.workers, &out.workspace_bytes)};
  return out;
}

}  // namespace hone
