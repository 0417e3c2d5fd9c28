#include "tuner/transfer/seeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "compiler/build/build.h"
#include "compiler/build/choose_config.h"
#include "tuner/transfer/foreign_config.h"
#include "tuner/transfer/foreign_workload.h"

namespace hone {
namespace {

// Attributes that a register tile does not depend on.
constexpr std::string_view kBesideTheShape[] = {"layout", "dtype", "epilogue", "prologue"};

// `workload` with those attributes of `like`.
std::string in_the_manner_of(const Workload& like, const Workload& workload) {
  std::vector<std::pair<std::string, std::string>> changes;
  for (const std::string_view name : kBesideTheShape)
    if (like.attributes.has(name)) changes.emplace_back(name, like.attributes.text(name));
  return to_string(Workload::changed(workload, changes));
}

bool is_x86(const std::string& foreign_target) { return foreign_lanes(foreign_target) != 4; }

}  // namespace

StatusOr<ForeignSeeds> foreign_seeds(const db::ForeignStore& store, const Workload& workload, const Target& target,
                                     const Space& space, size_t most) {
  HONE_ASSIGN_OR_RETURN(const std::vector<db::ForeignRow> records, store.list(workload.operator_name()));
  std::map<std::string, std::vector<const db::ForeignRow*>> by_shape;
  for (const db::ForeignRow& r : records) {
    if (r.status != "ok") continue;
    try {
      by_shape[in_the_manner_of(workload, Workload::parse_of(workload.op, r.workload))].push_back(&r);
    } catch (const UserError&) {
      // A record of an operator or version that is not known here is skipped.
    }
  }
  ForeignSeeds seeds;
  const std::string own = to_string(workload);
  std::vector<std::string> shapes{own};
  if (!by_shape.count(own)) {
    std::vector<std::string> known;
    for (const auto& [shape, rows] : by_shape) known.push_back(shape);
    shapes = rank_nearest(workload, known, INFINITY);
  }
  if (shapes.empty() || !by_shape.count(shapes[0])) return seeds;
  std::vector<const db::ForeignRow*>& rows = by_shape[shapes[0]];
  const bool x86 = target.arch == "x86_64";
  std::stable_sort(rows.begin(), rows.end(), [&](const db::ForeignRow* a, const db::ForeignRow* b) {
    const bool far_a = is_x86(a->target) != x86, far_b = is_x86(b->target) != x86;
    return far_a != far_b ? far_b : *a->seconds < *b->seconds;
  });
  seeds.records = rows.size();
  seeds.workload = rows[0]->workload;
  for (const db::ForeignRow* r : rows) {
    if (seeds.configs.size() >= most) break;
    const std::optional<Config> config = foreign_config(*r, target, space);
    if (config && std::find(seeds.configs.begin(), seeds.configs.end(), *config) == seeds.configs.end())
      seeds.configs.push_back(*config);
  }
  return seeds;
}

ForeignReader::ForeignReader(OperatorTable operators, Target target)
    : operators_(std::move(operators)), target_(std::move(target)) {}
ForeignReader::~ForeignReader() = default;

const Space* ForeignReader::space_of(const Workload& workload) {
  const auto [it, fresh] = spaces_.try_emplace(to_string(workload));
  if (fresh) try {
      it->second = std::make_unique<Space>(make_space(workload, target_));
    } catch (const UserError&) {
      // No template, or no valid config: no seed.
    }
  return it->second.get();
}

db::ForeignMeaning ForeignReader::operator()(const db::ForeignRow& record) {
  const StatusOr<Workload> workload = foreign_workload(operators_, record);
  if (!workload.ok()) return {!absl::IsNotFound(workload.status()), "", false, message_of(workload.status())};
  db::ForeignMeaning meaning{true, to_string(*workload), false, ""};
  if (foreign_wishes(record, target_).empty()) {
    meaning.reason = fmt::format("knobs of {} that are not known here", record.template_name);
    return meaning;
  }
  const std::pair<std::string, std::string> usual{"layout", "NCHWc"};
  const Space* space = space_of(Workload::changed(*workload, {&usual, 1}));
  meaning.seed = record.status == "ok" && space && foreign_config(record, target_, *space);
  if (record.status != "ok")
    meaning.reason = fmt::format("failed there ({})", record.status);
  else if (!meaning.seed)
    meaning.reason = fmt::format("no config near that of {} on this machine", record.template_name);
  return meaning;
}

}  // namespace hone
