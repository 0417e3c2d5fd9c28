#include "base/check.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <new>
#include <ostream>

namespace {

// A value whose text cannot be made.
struct Unsayable {
  friend std::ostream& operator<<(std::ostream&, const Unsayable&) { throw std::runtime_error("operator<<"); }
};

}  // namespace

template <>
struct fmt::formatter<Unsayable> : fmt::formatter<int> {
  template <class Context>
  auto format(const Unsayable&, Context& context) const {
    throw std::runtime_error("formatter");
    return context.out();
  }
};

namespace hone {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// The error that `f` ends with.
template <class F>
std::string thrown(const F& f) {
  try {
    f();
  } catch (const UserError& e) {
    return std::string("UserError: ") + e.what();
  } catch (const InternalError& e) {
    return std::string("InternalError: ") + e.what();
  } catch (const std::bad_alloc&) {
    return "bad_alloc";
  } catch (const std::exception& e) {
    return e.what();
  }
  return "nothing";
}

std::string missing() { throw UserError("input 1 is missing"); }

int exhausted() { throw std::bad_alloc(); }

// As a check in a function that a text calls.
std::string refused(int n) {
  HONE_USER_CHECK(n > 0) << "n is " << n;
  return std::to_string(n);
}

TEST(Check, ThrowsItsWholeText) {
  EXPECT_EQ(thrown([] { HONE_USER_CHECK(false) << "axis " << 3 << " of " << std::string("x"); }),
            "UserError: axis 3 of x");
  EXPECT_THAT(thrown([] { HONE_ICHECK(1 > 2) << "more"; }), HasSubstr("check_test.cc:"));
  EXPECT_THAT(thrown([] { HONE_ICHECK(1 > 2) << "more"; }), HasSubstr("internal check '1 > 2' failed: more"));
  EXPECT_EQ(thrown([] {
              HONE_USER_CHECK(true) << missing();
              HONE_ICHECK(true) << missing();
            }),
            "nothing")
      << "what holds has no text";
}

// Each would end the process where the text were made by a destructor.
TEST(Check, AnOperandThatThrowsIsWhatIsThrown) {
  EXPECT_EQ(thrown([] { HONE_USER_CHECK(false) << "reads " << missing(); }), "UserError: input 1 is missing");
  EXPECT_EQ(thrown([] { HONE_ICHECK(false) << "reads " << missing(); }), "UserError: input 1 is missing");
  EXPECT_EQ(thrown([] { HONE_USER_CHECK(false) << refused(1) << refused(0); }), "UserError: n is 0");
  EXPECT_EQ(thrown([] { HONE_USER_CHECK(false) << "a" << Unsayable() << "b"; }), "operator<<");
  EXPECT_EQ(thrown([] { HONE_ICHECK(false) << "a" << Unsayable() << "b"; }), "operator<<");
  EXPECT_EQ(thrown([] { HONE_USER_CHECK(false) << fmt::format("{}", Unsayable()); }), "formatter");
  EXPECT_EQ(thrown([]() -> void { throw UserError(fmt::format("{}", Unsayable())); }), "formatter");
  EXPECT_EQ(thrown([] { HONE_USER_CHECK(false) << exhausted(); }), "bad_alloc");
}

TEST(Check, AlsoWhileAnotherExceptionIsUnderWay) {
  struct Leaves {
    std::string* what;
    ~Leaves() {
      *what = thrown([] { HONE_USER_CHECK(false) << "inner " << missing(); });
    }
  };
  std::string inner;
  EXPECT_EQ(thrown([&] {
              const Leaves leaves{&inner};
              HONE_USER_CHECK(false) << "outer " << refused(-1);
            }),
            "UserError: n is -1");
  EXPECT_EQ(inner, "UserError: input 1 is missing");
}

}  // namespace
}  // namespace hone
