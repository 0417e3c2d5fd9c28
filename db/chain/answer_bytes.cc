#include "db/chain/answer_bytes.h"

#include <cstring>
#include <type_traits>

namespace hone::db {
namespace {

class ByteWriter {
 public:
  template <class T>
  void operator()(const T& value) {
    if constexpr (std::is_arithmetic_v<T>)
      bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    else
      visit_fields(*this, value);
  }
  void operator()(const std::string& text) {
    (*this)(static_cast<uint64_t>(text.size()));
    bytes_ += text;
  }
  template <class T>
  void operator()(const std::optional<T>& value) {
    (*this)(value.has_value());
    if (value) (*this)(*value);
  }
  template <class T>
  void operator()(const std::vector<T>& values) {
    (*this)(static_cast<uint64_t>(values.size()));
    for (const T& value : values) (*this)(value);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  void operator()(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = !take(1).empty() && last_[0] != 0;
    } else if constexpr (std::is_arithmetic_v<T>) {
      if (!take(sizeof value).empty()) std::memcpy(&value, last_.data(), sizeof value);
    } else {
      visit_fields(*this, value);
    }
  }
  void operator()(std::string& text) {
    uint64_t size = 0;
    (*this)(size);
    text = size == 0 ? std::string_view() : take(size);
  }
  template <class T>
  void operator()(std::optional<T>& value) {
    bool is_there = false;
    (*this)(is_there);
    if (is_there && is_good_) (*this)(value.emplace());
  }
  template <class T>
  void operator()(std::vector<T>& values) {
    uint64_t size = 0;
    (*this)(size);
    // Each has a byte at least.
    if (size > bytes_.size()) is_good_ = false;
    for (uint64_t i = 0; i < size && is_good_; ++i) (*this)(values.emplace_back());
  }
  bool is_whole() const { return is_good_ && bytes_.empty(); }

 private:
  std::string_view take(uint64_t size) {
    is_good_ = is_good_ && size <= bytes_.size();
    last_ = is_good_ ? bytes_.substr(0, size) : std::string_view();
    if (is_good_) bytes_.remove_prefix(size);
    return last_;
  }

  std::string_view bytes_, last_;
  bool is_good_ = true;
};

// Calls `f` with each of them, in an order that never changes: the version of the cache's file stands for it.
template <class F, class... T>
void each(F& f, T&... fields) {
  (f(fields), ...);
}

template <class T, class Row>
concept RowOf = std::is_same_v<std::remove_const_t<T>, Row>;

template <class F, RowOf<MachineState> T>
void visit_fields(F& f, T& m) {
  each(f, m.governor, m.temperature_before_c, m.temperature_after_c, m.clock_before_mhz, m.clock_after_mhz,
       m.throttled);
}
template <class F, RowOf<BestRow> T>
void visit_fields(F& f, T& b) {
  each(f, b.workload, b.target, b.in_layout, b.out_layout, b.space, b.template_name, b.template_revision, b.config,
       b.seconds, b.spread, b.confirmed, b.disturbed, b.default_seconds, b.sentinel, b.device, b.device_model,
       b.profile, b.missing, b.machine, b.hone_version, b.codegen_version, b.module_hash, b.session, b.seq, b.candidate,
       b.updated_at);
}
template <class F, RowOf<ChoiceRow> T>
void visit_fields(F& f, T& c) {
  each(f, c.workload, c.target, c.space, c.config, c.instead_of, c.seconds, c.instead_seconds, c.created_at);
}
template <class F, RowOf<TeamBest> T>
void visit_fields(F& f, T& b) {
  each(f, b.row, b.owner, b.trials);
}
template <class F, RowOf<TeamChoice> T>
void visit_fields(F& f, T& c) {
  each(f, c.row, c.owner);
}
template <class F, RowOf<WorkloadAnswer> T>
void visit_fields(F& f, T& a) {
  each(f, a.bests, a.choices);
}
template <class F, RowOf<PriorRow> T>
void visit_fields(F& f, T& p) {
  each(f, p.target_kind, p.schema, p.hone_version, p.created_at, p.groups, p.trials, p.held_out, p.pairwise, p.peak1,
       p.peak5, p.model);
}

template <class T>
std::string bytes_of(const T& value) {
  ByteWriter out;
  out(value);
  return out.take();
}

template <class T>
std::optional<T> read_all(std::string_view bytes) {
  std::optional<T> out(std::in_place);
  ByteReader in(bytes);
  in(*out);
  if (!in.is_whole()) out.reset();
  return out;
}

}  // namespace

std::string to_bytes(const WorkloadAnswer& answer) { return bytes_of(answer); }
std::string to_bytes(const PriorRow& prior) { return bytes_of(prior); }
std::optional<WorkloadAnswer> answer_of_bytes(std::string_view bytes) { return read_all<WorkloadAnswer>(bytes); }
std::optional<PriorRow> prior_of_bytes(std::string_view bytes) { return read_all<PriorRow>(bytes); }

}  // namespace hone::db
