#include "compiler/ir/stmt.h"

namespace hone {

Stmt make_seq(std::vector<Stmt> stmts) {
  std::vector<Stmt> flat;
  for (Stmt& s : stmts) {
    if (!s) continue;
    if (const Seq* inner = as<Seq>(s))
      flat.insert(flat.end(), inner->stmts.begin(), inner->stmts.end());
    else
      flat.push_back(std::move(s));
  }
  if (flat.size() == 1) return flat[0];
  return Stmt(new Seq(std::move(flat)));
}

Stmt make_if(Expr condition, Stmt then_case, Stmt else_case) {
  if (is_const(condition, 1)) return then_case;
  if (is_const(condition, 0)) return else_case ? else_case : make_seq({});
  return Stmt(new If(std::move(condition), std::move(then_case), std::move(else_case)));
}

std::string_view name_of(LoopKind kind) {
  static constexpr std::string_view kNames[] = {"serial", "unroll", "vectorize", "parallel",
                                                "block",  "thread", "tensor"};
  return kNames[static_cast<int>(kind)];
}

}  // namespace hone
