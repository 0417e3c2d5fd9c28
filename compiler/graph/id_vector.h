// Vectors that are indexed by the ids of a graph: of values, or of nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hone {

/// A std::vector that takes an id, which is signed since none is -1, as an index; one below 0 has no element.
template <class T>
class IdVector : public std::vector<T> {
  using Base = std::vector<T>;

 public:
  using Base::Base;
  IdVector() = default;
  IdVector(Base elements) : Base(std::move(elements)) {}

  typename Base::reference operator[](int32_t id) { return Base::operator[](static_cast<size_t>(id)); }
  typename Base::const_reference operator[](int32_t id) const { return Base::operator[](static_cast<size_t>(id)); }
  typename Base::reference operator[](size_t i) { return Base::operator[](i); }
  typename Base::const_reference operator[](size_t i) const { return Base::operator[](i); }
};

}  // namespace hone
