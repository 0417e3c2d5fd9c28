#include "compiler/lower/repeat.h"

#include "base/check.h"
#include "compiler/arith/simplify.h"
#include "compiler/lower/plan_storage.h"
#include "compiler/lower/replace_buffers.h"

namespace hone {
namespace {

using Kind = RepeatedParam::Kind;

// to[0 .. n-1] = from[offset .. offset+n-1]
Stmt copy(const Buffer& from, const Expr& offset, const Buffer& to, int64_t n) {
  const Var i("i");
  return make_for(i, make_int(0), make_int(n), LoopKind::kSerial, make_store(to, {i}, load(from, {Expr(i) + offset})));
}

void check_fits(const Module& step, const Repetition& r) {
  HONE_ICHECK(step.kernels.size() == 1) << "a step of " << step.kernels.size() << " kernels";
  HONE_ICHECK(r.count >= 1 && r.params.size() == step.params.size()) << "another step is repeated";
  for (size_t p = 0; p < step.params.size(); ++p) {
    const Param& param = step.params[p];
    if (r.params[p].kind == Kind::kWhole) continue;
    HONE_ICHECK(param.layout == Layout::identity(param.shape) && kernel_arguments(step, p).size() == 1)
        << "'" << param.name << "' has a layout";
    if (r.params[p].kind != Kind::kState || param.role == ParamRole::kOutput) continue;
    const size_t next = r.params[p].next;
    HONE_ICHECK(next < step.params.size() && step.params[next].role == ParamRole::kOutput &&
                step.params[next].dtype == param.dtype &&
                element_count(step.params[next].shape) == element_count(param.shape))
        << "'" << param.name << "' is another tensor than the next step's";
  }
}

}  // namespace

Module repeat(const Module& step, const Repetition& r) {
  check_fits(step, r);
  const Function& kernel = step.kernels[0];
  Module out = step;
  Function f{kernel.name, {}, kernel.shape_vars, nullptr};
  const Var t("t");
  const Expr part = r.is_backwards ? make_int(r.count - 1) - Expr(t) : Expr(t);
  std::vector<BufferReplacement> replaced;
  std::vector<size_t> argument;  // of each parameter, its first
  for (size_t p = 0; p < step.params.size(); ++p) {
    const auto arguments = kernel_arguments(step, p);
    argument.push_back(f.params.size());
    for (size_t a = 0; a < arguments.size(); ++a) f.params.push_back(kernel.params[f.params.size()]);
    if (r.params[p].kind != Kind::kPart) continue;
    Param& whole = out.params[p];
    const int64_t n = element_count(whole.shape);
    whole.shape[0] *= r.count;
    whole.layout = Layout::identity(whole.shape);
    Buffer& buffer = f.params.back();
    const Buffer of_step = buffer;
    buffer = make_buffer(of_step->name, of_step->dtype, {element_count(whole.shape)});
    replaced.push_back({of_step, buffer, part * n});
  }
  std::vector<Stmt> before, behind;
  std::vector<Buffer> states;
  for (size_t p = 0; p < step.params.size(); ++p) {
    if (r.params[p].kind != Kind::kState || step.params[p].role == ParamRole::kOutput) continue;
    const int64_t n = element_count(step.params[p].shape);
    const Buffer& first = f.params[argument[p]];
    const size_t next = r.params[p].next;
    states.push_back(make_buffer(first->name + "_state", first->dtype, {n}, BufferScope::kWorkspace));
    replaced.push_back({first, states.back()});
    before.push_back(copy(first, make_int(0), states.back(), n));
    behind.push_back(
        copy(f.params[argument[next]], r.params[next].kind == Kind::kPart ? part * n : make_int(0), states.back(), n));
  }
  behind.insert(behind.begin(), replace_buffers(kernel.body, replaced));
  before.push_back(make_for(t, make_int(0), make_int(r.count), LoopKind::kSerial, make_seq(std::move(behind))));
  f.body = simplify(make_seq(std::move(before)));
  for (const Buffer& b : states) f.body = make_allocate(b, -1, f.body);
  out.kernels = {plan_storage(f, step.workers, &out.workspace_bytes)};
  return out;
}

}  // namespace hone
