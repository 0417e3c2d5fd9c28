#include "compiler/build/build.h"

#include <algorithm>
#include <optional>

#include "compiler/ir/printer.h"
#include "compiler/lower/extremes.h"
#include "compiler/lower/lower.h"
#include "compiler/lower/lower_blocks.h"
#include "compiler/ops/definition.h"
#include "compiler/ops/extremes.h"
#include "compiler/ops/products/runs.h"
#include "compiler/ops/templates/template.h"
#include "compiler/ops/user_operator.h"

namespace hone {
namespace {

std::unique_ptr<Schedule> scheduled(const Workload& w, const Target& target, const Space& space, const Config& config) {
  const std::string broken = space.broken_constraint(config);
  HONE_USER_CHECK(broken.empty()) << "config " << space.print(config) << " breaks the constraint '" << broken << "'";
  if (const UserTemplate* own = user_template(w)) return own->apply(space, config);
  std::unique_ptr<Schedule> s;
  Knobs knobs = space.reader(config);
  std::optional<Workload> plain;
  const Workload& own = tells_extremes(w) ? plain.emplace(without_extremes(w)) : w;
  template_for(w, target).apply(own, target, knobs, &s);
  s->inline_rest();
  return s;
}

}  // namespace

Space make_space(const Workload& w, const Target& target, const Narrowing& narrowing) {
  if (const UserTemplate* own = user_template(w))
    return Space(own->name, own->revision, own->program, own->knobs, own->settle, narrowing);
  const Template& t = template_for(w, target);
  check_runs(w, target);
  if (tells_extremes(w)) {
    HONE_USER_CHECK(!target.is_gpu()) << "extremes=1: kernels of " << target.kind << " have none";
    define(w);  // refuses types that have none
  }
  return Space(
      std::string(t.name), t.revision,
      [apply = t.apply, own = without_extremes(w), target](Knobs& knobs) { apply(own, target, knobs, nullptr); },
      narrowing);
}

Module lower_config(const Workload& w, const Target& target, const Space& space, const Config& config,
                    const PassHooks<Function>& hooks) {
  Module m = lower(*scheduled(w, target, space, config), {.workers = target.threads, .hooks = hooks});
  if (tells_extremes(w)) m = tell_extremes(m);
  return m;
}

std::string scheduled_text(const Workload& w, const Target& target, const Space& space, const Config& config) {
  const auto s = scheduled(w, target, space, config);
  return s->text() + "\n" + to_string(lower_blocks(*s, Allocation::kWhole));
}

std::string steps_text(const Workload& w, const Target& target, const Space& space, const Config& config) {
  return scheduled(w, target, space, config)->text();
}

Layouts layouts_of(const Module& m) {
  const auto name = [&](const Param& p) {
    static constexpr std::string_view kLetters[] = {"", "A", "MN", "BMN", "NCHW"};
    return p.shape.size() <= 4 ? p.layout.name(kLetters[p.shape.size()]) : std::string();
  };
  const auto output =
      std::find_if(m.params.begin(), m.params.end(), [](const Param& p) { return p.role == ParamRole::kOutput; });
  return {name(m.params.front()), name(*output)};
}

}  // namespace hone
