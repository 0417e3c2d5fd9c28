#include "compiler/report/compare_reports.h"

#include <algorithm>
#include <deque>
#include <map>

namespace hone {
namespace {

// Pairs layers with equal keys, in order, among the layers that have no partner yet.
template <class Key>
void pair_by(const Key& key, const std::vector<ReportLayer>& before, const std::vector<ReportLayer>& now,
             std::vector<std::optional<size_t>>* before_of, std::vector<bool>* is_taken) {
  std::map<std::string, std::deque<size_t>> waiting;
  for (size_t i = 0; i < before.size(); ++i)
    if (!(*is_taken)[i]) waiting[key(before[i])].push_back(i);
  for (size_t i = 0; i < now.size(); ++i) {
    if ((*before_of)[i]) continue;
    auto& queue = waiting[key(now[i])];
    if (queue.empty()) continue;
    (*before_of)[i] = queue.front();
    (*is_taken)[queue.front()] = true;
    queue.pop_front();
  }
}

// The variant of the same name; else, as names only distinguish the variants of one build, of the same threads and
// inputs; if both reports have one variant, that.
const ReportVariant* variant_of(const ModelReport& report, const ReportVariant& like, size_t variants) {
  for (const ReportVariant& v : report.variants)
    if (v.name == like.name) return &v;
  for (const ReportVariant& v : report.variants)
    if (v.threads == like.threads && v.inputs == like.inputs) return &v;
  return report.variants.size() == 1 && variants == 1 ? &report.variants[0] : nullptr;
}

OrderedJson old_layer_json(const ReportLayer& l) {
  OrderedJson j = {{"nodes", l.nodes}, {"workload", l.workload}, {"config", l.config}, {"source", l.source}};
  if (l.seconds) j["seconds"] = *l.seconds;
  return j;
}

const char* state_of(const ReportLayer& before, const ReportLayer& now) {
  if (before.workload != now.workload) return "workload";
  return before.config != now.config ? "config" : "same";
}

OrderedJson compared_json(const ReportVariant& before, const ReportVariant& now) {
  OrderedJson j = {{"name", now.name}, {"arena_bytes", before.arena_bytes}};
  if (const auto s = before.layer_seconds()) j["layer_seconds"] = *s;
  if (before.median_seconds) j["median_seconds"] = *before.median_seconds;
  j["layers"] = OrderedJson::array();
  for (const LayerPair& p : pair_layers(before.layers, now.layers)) {
    OrderedJson pair;
    pair["state"] = !p.before ? "new" : !p.now ? "gone" : state_of(before.layers[*p.before], now.layers[*p.now]);
    if (p.now) pair["now"] = *p.now;
    if (p.before) pair["before"] = old_layer_json(before.layers[*p.before]);
    j["layers"].push_back(std::move(pair));
  }
  return j;
}

}  // namespace

std::vector<LayerPair> pair_layers(const std::vector<ReportLayer>& before, const std::vector<ReportLayer>& now) {
  std::vector<std::optional<size_t>> before_of(now.size());
  std::vector<bool> is_taken(before.size(), false);
  const auto pair = [&](const auto& key) { pair_by(key, before, now, &before_of, &is_taken); };
  pair([](const ReportLayer& l) { return l.workload + "\n" + l.nodes; });
  // A layer whose node has no name is paired by its workload alone.
  pair([](const ReportLayer& l) { return l.nodes.empty() ? "\n" + l.workload : l.nodes; });
  pair([](const ReportLayer& l) { return l.workload; });
  std::vector<LayerPair> out;
  for (size_t i = 0; i < now.size(); ++i) out.push_back({before_of[i], i});
  for (size_t i = 0; i < before.size(); ++i)
    if (!is_taken[i]) out.push_back({i, std::nullopt});
  return out;
}

OrderedJson compare_reports(const ModelReport& before, const ModelReport& now) {
  OrderedJson j = {{"model", before.model},
                   {"hone", before.hone},
                   {"target", before.target},
                   {"machine", before.machine},
                   {"when", before.when},
                   {"artifact_bytes", before.artifact_bytes},
                   {"weight_bytes", before.weight_bytes}};
  j["notes"] = OrderedJson::array();
  const auto note = [&](const char* what, const std::string& a, const std::string& b) {
    if (!a.empty() && !b.empty() && a != b)
      j["notes"].push_back(std::string(what) + ": " + a + " before, " + b + " now");
  };
  note("another model", before.model, now.model);
  note("another target", before.target, now.target);
  note("another machine", before.machine, now.machine);
  note("denormals", before.denormals, now.denormals);
  note("NaNs", before.nans, now.nans);
  note("another version of Hone", before.hone, now.hone);
  j["variants"] = OrderedJson::array();
  for (const ReportVariant& v : now.variants)
    if (const ReportVariant* older = variant_of(before, v, now.variants.size()))
      j["variants"].push_back(compared_json(*older, v));
    else
      j["notes"].push_back("the older report has no variant '" + v.name + "'");
  return j;
}

}  // namespace hone
