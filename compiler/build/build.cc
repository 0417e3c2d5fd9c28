#include "compiler/build/build.h"

#include "compiler/ir/printer.h"
#include "compiler/lower/lower.h"
#include "compiler/lower/lower_blocks.h"
#include "compiler/ops/runs.h"
#include "compiler/ops/templates/template.h"

namespace hone {
namespace {

std::unique_ptr<Schedule> scheduled(const Workload& w, const Target& target, const Space& space, const Config& config) {
  const std::string broken = space.broken_constraint(config);
  HONE_USER_CHECK(broken.empty()) << "config " << space.print(config) << " breaks the constraint '" << broken << "'";
  std::unique_ptr<Schedule> s;
  Knobs knobs = space.reader(config);
  template_for(w, target).apply(w, target, knobs, &s);
  s->inline_rest();
  return s;
}

}  // namespace

Space make_space(const Workload& w, const Target& target, const Narrowing& narrowing) {
  const Template& t = template_for(w, target);
  check_runs(w, target);
  return Space(
      std::string(t.name), t.revision, [apply = t.apply, w, target](Knobs& knobs) { apply(w, target, knobs, nullptr); },
      narrowing);
}

Module lower_config(const Workload& w, const Target& target, const Space& space, const Config& config,
                    const PassHooks<Function>& hooks) {
  return lower(*scheduled(w, target, space, config), {.workers = target.threads, .hooks = hooks});
}

std::string scheduled_text(const Workload& w, const Target& target, const Space& space, const Config& config) {
  const auto s = scheduled(w, target, space, config);
  return s->text() + "\n" + to_string(lower_blocks(*s, Storage::kWhole));
}

std::string steps_text(const Workload& w, const Target& target, const Space& space, const Config& config) {
  return scheduled(w, target, space, config)->text();
}

Layouts layouts_of(const Module& m) {
  const auto name = [&](const Param& p) {
    static constexpr std::string_view kLetters[] = {"", "A", "MN", "BMN", "NCHW"};
    return p.shape.size() <= 4 ? p.layout.name(kLetters[p.shape.size()]) : std::string();
  };
  return {name(m.params.front()), name(m.params.back())};
}

std::string hone_version() { return "0.1.0"; }

}  // namespace hone
