#include "compiler/report/report_json.h"

#include <fmt/format.h>

#include "base/check.h"
#include "compiler/report/report_page.h"

namespace hone {
namespace {

constexpr int kFormat = 1;

template <class T>
void put(OrderedJson& j, const char* key, const std::optional<T>& value) {
  if (value) j[key] = *value;
}
void put(OrderedJson& j, const char* key, const std::string& value) {
  if (!value.empty()) j[key] = value;
}

OrderedJson layer_json(const ReportLayer& l) {
  OrderedJson j = {{"nodes", l.nodes},   {"workload", l.workload}, {"config", l.config}, {"source", l.source},
                   {"kernel", l.kernel}, {"threads", l.threads},   {"bytes", l.bytes},   {"operations", l.operations}};
  put(j, "in_place", l.in_place);
  put(j, "alone", l.alone);
  put(j, "layout", l.layout);
  put(j, "seconds", l.seconds);
  put(j, "roof_seconds", l.roof_seconds);
  put(j, "error", l.error);
  return j;
}

template <class T, class F>
OrderedJson list_json(const std::vector<T>& list, const F& to_json) {
  OrderedJson j = OrderedJson::array();
  for (const T& item : list) j.push_back(to_json(item));
  return j;
}

OrderedJson variant_json(const ReportVariant& v) {
  const auto port = [](const ReportPort& p) { return OrderedJson{{"name", p.name}, {"type", p.type}}; };
  OrderedJson j = {
      {"name", v.name}, {"threads", v.threads}, {"arena_bytes", v.arena_bytes}, {"arena_bound", v.arena_bound}};
  put(j, "layer_seconds", v.layer_seconds());
  put(j, "median_seconds", v.median_seconds);
  put(j, "fastest_seconds", v.fastest_seconds);
  put(j, "check", v.check);
  j["inputs"] = list_json(v.inputs, port);
  j["outputs"] = list_json(v.outputs, port);
  j["layers"] = list_json(v.layers, layer_json);
  j["buffers"] = list_json(v.buffers, [](const ReportBuffer& b) {
    return OrderedJson{{"name", b.name},     {"is_workspace", b.is_workspace},
                       {"offset", b.offset}, {"bytes", b.bytes},
                       {"first", b.first},   {"last", b.last}};
  });
  j["free"] = list_json(v.free, [](const ReportFree& f) {
    return OrderedJson{{"nodes", f.nodes}, {"workload", f.workload}};
  });
  j["passes"] = list_json(v.passes, [](const ReportPass& p) {
    return OrderedJson{{"name", p.name}, {"nodes", p.nodes}, {"seconds", p.seconds}};
  });
  return j;
}

// Reads members; missing ones, and ones of a wrong type, are errors of a damaged report.
class Reader {
 public:
  Reader(const OrderedJson& j, const std::string& file, std::string where)
      : j_(j), file_(file), where_(std::move(where)) {
    need(j.is_object(), "is not an object");
  }

  void get(const char* key, std::string* out) const {
    if (const auto* v = member(key)) need(v->is_string(), key), *out = v->get<std::string>();
  }
  template <class T>
  void get(const char* key, T* out) const {
    if (const auto* v = member(key)) need(is_whole(*v), key), *out = v->get<T>();
  }
  void get(const char* key, bool* out) const {
    if (const auto* v = member(key)) need(v->is_boolean(), key), *out = v->get<bool>();
  }
  void get(const char* key, double* out) const {
    if (const auto* v = member(key)) need(v->is_number(), key), *out = v->get<double>();
  }
  void get(const char* key, std::optional<double>* out) const {
    if (const auto* v = member(key)) need(v->is_number(), key), *out = v->get<double>();
  }
  /// f(reader) of each item of a list that is not left out.
  template <class F>
  void each(const char* key, const F& f) const {
    const auto* list = member(key);
    need(list && list->is_array(), key);
    for (size_t i = 0; i < list->size(); ++i) f(Reader((*list)[i], file_, fmt::format("{}{}[{}].", where_, key, i)));
  }

 private:
  static bool is_whole(const OrderedJson& v) {
    return v.is_number_integer() && v.get<int64_t>() >= 0 && v.get<int64_t>() < int64_t{1} << 53;
  }
  const OrderedJson* member(const char* key) const {
    const auto it = j_.find(key);
    return it == j_.end() ? nullptr : &*it;
  }
  void need(bool is_right, const char* key) const {
    HONE_USER_CHECK(is_right) << "'" << file_ << "' is a damaged report: " << where_ << key;
  }

  const OrderedJson& j_;
  const std::string& file_;
  const std::string where_;
};

ReportLayer read_layer(const Reader& r) {
  ReportLayer l;
  for (const auto& [key, member] :
       std::initializer_list<std::pair<const char*, std::string*>>{{"nodes", &l.nodes},
                                                                   {"workload", &l.workload},
                                                                   {"config", &l.config},
                                                                   {"source", &l.source},
                                                                   {"kernel", &l.kernel},
                                                                   {"threads", &l.threads},
                                                                   {"in_place", &l.in_place},
                                                                   {"alone", &l.alone},
                                                                   {"layout", &l.layout}})
    r.get(key, member);
  r.get("operations", &l.operations);
  r.get("bytes", &l.bytes);
  r.get("seconds", &l.seconds);
  r.get("roof_seconds", &l.roof_seconds);
  r.get("error", &l.error);
  return l;
}

ReportPort read_port(const Reader& r) {
  ReportPort p;
  r.get("name", &p.name);
  r.get("type", &p.type);
  return p;
}

ReportVariant read_variant(const Reader& r) {
  ReportVariant v;
  r.get("name", &v.name);
  r.get("threads", &v.threads);
  r.get("arena_bytes", &v.arena_bytes);
  r.get("arena_bound", &v.arena_bound);
  r.get("median_seconds", &v.median_seconds);
  r.get("fastest_seconds", &v.fastest_seconds);
  r.get("check", &v.check);
  r.each("inputs", [&](const Reader& item) { v.inputs.push_back(read_port(item)); });
  r.each("outputs", [&](const Reader& item) { v.outputs.push_back(read_port(item)); });
  r.each("layers", [&](const Reader& item) { v.layers.push_back(read_layer(item)); });
  r.each("buffers", [&](const Reader& item) {
    ReportBuffer& b = v.buffers.emplace_back();
    item.get("name", &b.name);
    item.get("is_workspace", &b.is_workspace);
    item.get("offset", &b.offset);
    item.get("bytes", &b.bytes);
    item.get("first", &b.first);
    item.get("last", &b.last);
  });
  r.each("free", [&](const Reader& item) {
    ReportFree& f = v.free.emplace_back();
    item.get("nodes", &f.nodes);
    item.get("workload", &f.workload);
  });
  r.each("passes", [&](const Reader& item) {
    ReportPass& p = v.passes.emplace_back();
    item.get("name", &p.name);
    item.get("nodes", &p.nodes);
    item.get("seconds", &p.seconds);
  });
  return v;
}

}  // namespace

std::optional<double> ReportVariant::layer_seconds() const {
  double all = 0;
  for (const ReportLayer& l : layers) {
    if (!l.seconds) return std::nullopt;
    all += *l.seconds;
  }
  return all;
}

OrderedJson report_json(const ModelReport& report) {
  OrderedJson j = {{"hone_report", kFormat},
                   {"model", report.model},
                   {"hone", report.hone},
                   {"target", report.target},
                   {"machine", report.machine},
                   {"when", report.when},
                   {"artifact_bytes", report.artifact_bytes},
                   {"weight_bytes", report.weight_bytes}};
  put(j, "weights_file", report.weights_file);
  put(j, "denormals", report.denormals);
  put(j, "nans", report.nans);
  put(j, "peak_gflops", report.peak_gflops);
  j["variants"] = list_json(report.variants, variant_json);
  return j;
}

ModelReport parse_report(const std::string& text, const std::string& name) {
  const OrderedJson j = OrderedJson::parse(data_of_page(text).value_or(text), nullptr, /*allow_exceptions=*/false);
  HONE_USER_CHECK(j.is_object() && j.contains("hone_report") && j["hone_report"].is_number_integer())
      << "'" << name << "' is no report that tensorc --report has written";
  HONE_USER_CHECK(j["hone_report"] == kFormat) << "'" << name << "' is a report of another version of Hone: of format "
                                               << json_line(j["hone_report"]) << ", and this one reads " << kFormat;
  ModelReport report;
  const Reader r(j, name, "");
  for (const auto& [key, member] :
       std::initializer_list<std::pair<const char*, std::string*>>{{"model", &report.model},
                                                                   {"hone", &report.hone},
                                                                   {"target", &report.target},
                                                                   {"machine", &report.machine},
                                                                   {"when", &report.when},
                                                                   {"weights_file", &report.weights_file},
                                                                   {"denormals", &report.denormals},
                                                                   {"nans", &report.nans}})
    r.get(key, member);
  r.get("artifact_bytes", &report.artifact_bytes);
  r.get("weight_bytes", &report.weight_bytes);
  r.get("peak_gflops", &report.peak_gflops);
  r.each("variants", [&](const Reader& v) { report.variants.push_back(read_variant(v)); });
  return report;
}

}  // namespace hone
