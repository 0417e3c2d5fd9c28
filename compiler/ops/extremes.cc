#include "compiler/ops/extremes.h"

#include <fmt/format.h>

#include "compiler/ops/elementwise.h"
#include "compiler/ops/user_operator.h"

namespace hone {
namespace {

constexpr const char* kName = "extremes";

Workload with_value(const Workload& w, const char* value) {
  const std::pair<std::string, std::string> change{kName, value};
  return Workload::changed(w, {&change, 1});
}

Tensor over_all(const char* name, const Tensor& of, Reduction (*reduce)(Expr, std::vector<Axis>)) {
  return compute_reduce(name, {1}, axis_names(1), {of}, [&](const std::vector<Expr>&) {
    std::vector<Axis> axes;
    std::vector<Expr> at;
    for (size_t d = 0; d < of->shape.size(); ++d) {
      axes.push_back(reduce_axis(fmt::format("k{}", d), of->shape[d]));
      at.push_back(axes.back());
    }
    return reduce(of.at(at), axes);
  });
}

}  // namespace

Attribute extremes_attribute() { return {kName, "0", flag(), /*is_optional=*/true}; }

bool can_tell_extremes(const Workload& w) { return w.attributes.has(kName) && !is_user_operator(w); }

bool tells_extremes(const Workload& w) { return can_tell_extremes(w) && w.attributes.get<bool>(kName); }

Workload with_extremes(const Workload& w) { return with_value(w, "1"); }

Workload without_extremes(const Workload& w) { return tells_extremes(w) ? with_value(w, "0") : w; }

void add_extremes(Definition* d) {
  const Tensor of = d->output();
  HONE_USER_CHECK(!of->buffer->dtype.is_bool()) << "extremes=1: bools have none";
  if (!d->anchor.node()) d->anchor = of;
  d->outputs = {of, over_all("least", of, &min_over), over_all("most", of, &max_over)};
}

}  // namespace hone
