// Whether two declarations of a C function can be called alike.
#pragma once

#include <cstddef>
#include <type_traits>

namespace hone {

// Passed alike: as large, and both a number or both an address.
template <class A, class B>
constexpr bool same_value() {
  return sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&
         (std::is_pointer_v<A> || std::is_integral_v<A> ||
          std::is_enum_v<A>)&&(std::is_pointer_v<B> || std::is_integral_v<B> || std::is_enum_v<B>);
}
template <class A, class B>
struct SameCall : std::false_type {};
template <class R, class... A, class S, class... B>
struct SameCall<R (*)(A...), S (*)(B...)> : std::bool_constant<[] {
  if constexpr (sizeof...(A) != sizeof...(B))
    return false;
  else
    return same_value<R, S>() && (same_value<A, B>() && ...);
}()> {};

static_assert(!SameCall<int (*)(int), int (*)(long)>::value && !SameCall<int (*)(size_t), int (*)(void*)>::value &&
              !SameCall<int (*)(), int (*)(int)>::value);

}  // namespace hone
