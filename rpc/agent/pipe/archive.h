// Plain structs <-> bytes, between processes of one host built from one source: native sizes and byte order, no
// versions. A struct takes part by `template <class A> void fields(A& a, T& t) { a(t.x, t.y); }` in its own namespace,
// an enumeration by `bool is_known(E e)`: no value is copied into a type that does not have it.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/utility/utility.h"
#include "base/status.h"

namespace hone::agent {

template <class T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

class ArchiveWriter {
 public:
  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  std::string take() { return std::move(out_); }

 private:
  void raw(const void* data, size_t n) { out_.append(static_cast<const char*>(data), n); }
  template <class T>
  void put(const T& v) {
    if constexpr (Plain<T>)
      raw(&v, sizeof v);
    else
      fields(*this, const_cast<T&>(v));  // fields() serves both directions; a writer only reads
  }
  void put(const std::string& s) {
    put<uint64_t>(s.size());
    raw(s.data(), s.size());
  }
  template <class T>
  void put(const std::vector<T>& v) {
    put<uint64_t>(v.size());
    if constexpr (Plain<T>)
      raw(v.data(), v.size() * sizeof(T));
    else
      for (const T& e : v) put(e);
  }
  template <class T>
  void put(const std::optional<T>& v) {
    put<uint8_t>(v.has_value());
    if (v) put(*v);
  }
  std::string out_;
};

class ArchiveReader {
 public:
  explicit ArchiveReader(std::string_view in) : in_(in) {}
  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  /// Everything was there and nothing is left over.
  bool complete() const { return ok_ && in_.empty(); }

 private:
  void raw(void* data, size_t n) {
    if (!ok_ || n > in_.size()) {
      ok_ = false;
      return;
    }
    if (n > 0) std::memcpy(data, in_.data(), n);
    in_.remove_prefix(n);
  }
  // A count is no larger than the bytes left to read, so a bad one cannot allocate much.
  size_t count(size_t element_bytes) {
    uint64_t n = 0;
    raw(&n, sizeof n);
    if (n > in_.size() / element_bytes) ok_ = false;
    return ok_ ? n : 0;
  }
  template <class T>
  void get(T& v) {
    if constexpr (std::is_same_v<T, bool>) {
      uint8_t byte = 0;
      raw(&byte, sizeof byte);
      if (byte > 1) ok_ = false;
      v = byte == 1;
    } else if constexpr (std::is_enum_v<T>) {
      std::underlying_type_t<T> number{};
      raw(&number, sizeof number);
      if (ok_ && is_known(static_cast<T>(number)))
        v = static_cast<T>(number);
      else
        ok_ = false;
    } else if constexpr (Plain<T>) {
      raw(&v, sizeof v);
    } else {
      fields(*this, v);
    }
  }
  void get(std::string& s) {
    s.resize(count(1));
    raw(s.data(), s.size());
  }
  template <class T>
  void get(std::vector<T>& v) {
    static_assert(!std::is_same_v<T, bool> && !std::is_enum_v<T>, "elements are copied as they are");
    if constexpr (Plain<T>) {
      v.resize(count(sizeof(T)));
      raw(v.data(), v.size() * sizeof(T));
    } else {
      // One by one: in memory an element may be many times as large as here.
      v.clear();
      for (size_t left = count(1); left > 0 && ok_; --left) get(v.emplace_back());
    }
  }
  template <class T>
  void get(std::optional<T>& v) {
    uint8_t has = 0;
    get(has);
    v.reset();
    if (has) get(v.emplace());
  }
  std::string_view in_;
  bool ok_ = true;
};

template <class T>
std::string to_bytes(const T& value) {
  ArchiveWriter a;
  a(value);
  return a.take();
}

template <class T>
StatusOr<T> from_bytes(std::string_view bytes) {
  StatusOr<T> value(absl::in_place);
  ArchiveReader a(bytes);
  a(*value);
  if (!a.complete()) return absl::InternalError("a frame between the agent's processes is malformed");
  return value;
}

}  // namespace hone::agent
