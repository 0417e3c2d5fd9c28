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

/// The text that is streamed into a failed check. An operand whose formatting throws costs this message, nothing else:
/// the exception of the check is thrown by ThrowWith, when the text is complete, and never by a destructor.
class MessageText {
 public:
  explicit MessageText(const char* prefix) { text_ << prefix; }
  template <class T>
  MessageText& operator<<(const T& value) {
    text_ << value;
    return *this;
  }
  std::string str() const { return text_.str(); }

 private:
  std::ostringstream text_;
};

/// Throws `E` with the text on the right of `&`, which binds weaker than `<<`.
template <class E>
struct ThrowWith {
  [[noreturn]] void operator&(const MessageText& text) const { throw E(text.str()); }
};

}  // namespace detail
}  // namespace hone

#define HONE_STRINGIFY_(x) #x
#define HONE_STRINGIFY(x) HONE_STRINGIFY_(x)

/// Throws InternalError unless `cond` holds; more text may be streamed in.
#define HONE_ICHECK(cond)                                \
  if (cond) [[likely]] {                                 \
  } else                                                 \
    ::hone::detail::ThrowWith<::hone::InternalError>() & \
        ::hone::detail::MessageText(__FILE__ ":" HONE_STRINGIFY(__LINE__) ": internal check '" #cond "' failed: ")

/// Throws UserError unless `cond` holds; the streamed text is the whole message.
#define HONE_USER_CHECK(cond) \
  if (cond) [[likely]] {      \
  } else                      \
    ::hone::detail::ThrowWith<::hone::UserError>() & ::hone::detail::MessageText("")
