// The two exceptions of the compiler and the checks that throw them.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace hone {

/// The program, schedule, config or workload is at fault. The message is one line: what, where, what is allowed.
struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Hone is at fault: a broken invariant. The message names file, line and condition.
struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

namespace detail {

/// Collects a message and throws `E` when it goes out of scope.
template <class E>
struct Thrower {
  std::ostringstream text;
  explicit Thrower(const std::string& prefix) { text << prefix; }
  Thrower(const Thrower&) = delete;
  Thrower& operator=(const Thrower&) = delete;
  [[noreturn]] ~Thrower() noexcept(false) { throw E(text.str()); }
  template <class T>
  Thrower& operator<<(const T& value) {
    text << value;
    return *this;
  }
};

}  // namespace detail
}  // namespace hone

#define HONE_STRINGIFY_(x) #x
#define HONE_STRINGIFY(x) HONE_STRINGIFY_(x)

/// Throws InternalError unless `cond` holds; more text may be streamed in.
#define HONE_ICHECK(cond)                                                                                           \
  if (cond) [[likely]] {                                                                                            \
  } else                                                                                                            \
    ::hone::detail::Thrower<::hone::InternalError>(__FILE__ ":" HONE_STRINGIFY(__LINE__) ": internal check '" #cond \
                                                                                         "' failed: ")

/// Throws UserError unless `cond` holds; the streamed text is the whole message.
#define HONE_USER_CHECK(cond) \
  if (cond) [[likely]] {      \
  } else                      \
    ::hone::detail::Thrower<::hone::UserError>("")
