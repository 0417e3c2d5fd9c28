// Two lock files side by side.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/short_hash.h"
#include "base/text.h"
#include "db/lock/lock_file.h"

namespace hone::db {
namespace {

std::string or_none(const std::string& text) { return text.empty() ? "none" : clean_line(text); }

class Comparison {
 public:
  std::vector<std::string> lines;

  void texts(std::string_view what, const std::string& a, const std::string& b) {
    if (a != b) lines.push_back(fmt::format("{}: {} -> {}", what, or_none(a), or_none(b)));
  }

  void digests(std::string_view what, const std::map<std::string, std::string>& a,
               const std::map<std::string, std::string>& b) {
    both(a, b, [&](const std::string& name, const std::string* x, const std::string* y) {
      texts(fmt::format("{} {}", what, clean_line(name)), x ? short_hash(*x) : "", y ? short_hash(*y) : "");
    });
  }

  // A flag that both have once with its two values; others as gone or new.
  void options(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    using Values = std::vector<std::string>;
    const auto by_flag = [](const Values& options, const Values& others) {
      std::map<std::string, std::vector<std::string>> out;
      for (const std::string& option : options)
        if (std::find(others.begin(), others.end(), option) == others.end()) {
          const size_t blank = option.find(' ');
          out[option.substr(0, blank)].push_back(blank == std::string::npos ? "" : option.substr(blank + 1));
        }
      return out;
    };
    const auto told = [&](const char* how, const std::string& flag, const std::vector<std::string>* values) {
      for (const std::string& value : values ? *values : std::vector<std::string>())
        lines.push_back(
            fmt::format("option {}: {}{}{}", how, clean_line(flag), value.empty() ? "" : " ", clean_line(value)));
    };
    both(by_flag(a, b), by_flag(b, a), [&](const std::string& flag, const Values* x, const Values* y) {
      if (x && y && x->size() == 1 && y->size() == 1) return texts("option " + clean_line(flag), (*x)[0], (*y)[0]);
      told("gone", flag, x), told("new", flag, y);
    });
  }

  // Calls `each` with each key of two sorted maps, and the values there; null: it has none.
  template <class Key, class Value, class Each>
  static void both(const std::map<Key, Value>& a, const std::map<Key, Value>& b, const Each& each) {
    for (const auto& [key, value] : a) {
      const auto other = b.find(key);
      each(key, &value, other == b.end() ? nullptr : &other->second);
    }
    for (const auto& [key, value] : b)
      if (!a.count(key)) each(key, nullptr, &value);
  }
};

using Key = std::pair<std::string, std::string>;

template <class Entry>
std::map<Key, Entry> by_key(const std::vector<Entry>& entries) {
  std::map<Key, Entry> out;
  for (const Entry& e : entries) out.emplace(Key(e.workload, e.target), e);
  return out;
}

// The parts of a layer that are others: its config, the record that it is from, or the trust in it.
std::string layer_change(const LockedConfig& a, const LockedConfig& b) {
  std::string out;
  const auto add = [&](std::string_view what, const std::string& x, const std::string& y) {
    if (x != y) out += fmt::format("{}{}{} -> {}", out.empty() ? "" : "; ", what, or_none(x), or_none(y));
  };
  add("", a.config, b.config);
  add("space ", short_hash(a.space), short_hash(b.space));
  add("record ", short_hash(a.record), short_hash(b.record));
  add("", a.confidence, b.confidence);
  if (out.empty()) add("", a.source, b.source);
  return out;
}

}  // namespace

std::vector<std::string> differences(const LockFile& a, const LockFile& b) {
  Comparison c;
  c.texts("hone", a.hone_version, b.hone_version);
  c.texts("codegen", a.codegen_version, b.codegen_version);
  c.texts("device code", a.device_code, b.device_code);
  c.texts("target", a.target, b.target);
  c.texts("host", a.host, b.host);
  c.options(a.options, b.options);
  c.digests("input", a.inputs, b.inputs);
  // Where a build has one target, its name on every line says nothing.
  const bool is_one = a.target == b.target &&
                      std::all_of(a.configs.begin(), a.configs.end(), [&](auto& x) { return x.target == a.target; }) &&
                      std::all_of(b.configs.begin(), b.configs.end(), [&](auto& x) { return x.target == a.target; });
  const auto layer = [&](const Key& key) {
    return clean_line(is_one ? key.first : fmt::format("{} for {}", key.first, key.second));
  };
  Comparison::both(by_key(a.configs), by_key(b.configs),
                   [&](const Key& key, const LockedConfig* x, const LockedConfig* y) {
                     if (x && y && *x == *y) return;
                     c.lines.push_back(!y   ? fmt::format("layer gone: {}: {}", layer(key), or_none(x->config))
                                       : !x ? fmt::format("layer new: {}: {}", layer(key), or_none(y->config))
                                            : fmt::format("layer {}: {}", layer(key), layer_change(*x, *y)));
                   });
  Comparison::both(by_key(a.times), by_key(b.times), [&](const Key& key, const LockedTime* x, const LockedTime* y) {
    const auto text = [](const LockedTime* t) { return t ? fmt::format("{} s", t->seconds) : std::string(); };
    c.texts("time of " + layer(key), text(x), text(y));
  });
  c.digests("artifact", a.artifact, b.artifact);
  return c.lines;
}

}  // namespace hone::db
