#include "rpc/agent/supervise/signed_object.h"

#include <gmock/gmock.h>

#include <functional>

#include "tests/fakes/temporary_folder.h"

namespace hone::agent {
namespace {

using testing::HasSubstr;

class SignedObject : public testing::Test {
 protected:
  SignedObject() { sign(key_, asked_, 1000, built_); }

  static AskedObject asked() {
    AskedObject out;
    out.module_sha256 = wire::sha256("a module");
    out.build = {"llvm -mcpu=cortex-a72", "llvm-19", std::string(wire::kNonceBytes, 'n'), {}};
    return out;
  }
  static wire::SignedObject object() {
    wire::SignedObject out;
    out.object = "machine code";
    out.info = "its description";
    return out;
  }
  std::string refused(const AskedObject& asked, const wire::SignedObject& built, int64_t now = 1000) const {
    return message_of(check_signed(key_.public_key(), asked, now, built));
  }

  const TemporaryFolder folder_;
  const wire::SigningKey key_ = wire::SigningKey::load_or_make(folder_.path() + "/key").value();
  const AskedObject asked_ = asked();
  wire::SignedObject built_ = object();
};

TEST_F(SignedObject, IsGoodUntilItExpires) {
  EXPECT_TRUE(check_signed(key_.public_key(), asked_, 1000, built_).ok());
  EXPECT_TRUE(check_signed(key_.public_key(), asked_, 1000 + kSignatureSeconds, built_).ok());
  EXPECT_THAT(refused(asked_, built_, 1003 + kSignatureSeconds), HasSubstr("until 3 s ago"));
}

TEST_F(SignedObject, OfAnotherQuestionIsRefused) {
  const auto refused_with = [&](const std::function<void(AskedObject&)>& change) {
    AskedObject other = asked();
    change(other);
    return refused(other, built_);
  };
  EXPECT_THAT(refused_with([](AskedObject& a) { a.module_sha256 = wire::sha256("another"); }), HasSubstr("not signed"));
  EXPECT_THAT(refused_with([](AskedObject& a) { a.build.target = "llvm -mcpu=cortex-a53"; }), HasSubstr("not signed"));
  EXPECT_THAT(refused_with([](AskedObject& a) { a.build.codegen = "llvm-18"; }), HasSubstr("not signed"));
  EXPECT_THAT(refused_with([](AskedObject& a) { a.build.nonce[31] = 'm'; }), HasSubstr("not signed")) << "a replay";
}

TEST_F(SignedObject, ChangedOrSwappedIsRefused) {
  const auto refused_with = [&](const std::function<void(wire::SignedObject&)>& change) {
    wire::SignedObject other = built_;
    change(other);
    return refused(asked_, other);
  };
  EXPECT_THAT(refused_with([](wire::SignedObject& b) { b.object += '!'; }), HasSubstr("not signed"));
  EXPECT_THAT(refused_with([](wire::SignedObject& b) { b.info.clear(); }), HasSubstr("not signed"));
  EXPECT_THAT(refused_with([](wire::SignedObject& b) { std::swap(b.info, b.object); }), HasSubstr("not signed"));
  EXPECT_THAT(refused_with([](wire::SignedObject& b) { b.expires += 1000; }), HasSubstr("not signed"));
  EXPECT_THAT(refused_with([](wire::SignedObject& b) { b.signature.clear(); }), HasSubstr("not signed"));
  EXPECT_THAT(refused_with([](wire::SignedObject& b) { b.signature.assign(64, '\0'); }), HasSubstr("not signed"));
  const wire::SigningKey other = wire::SigningKey::load_or_make(folder_.path() + "/other").value();
  EXPECT_THAT(refused_with([&](wire::SignedObject& b) { sign(other, asked_, 1000, b); }), HasSubstr("not signed"));
}

TEST_F(SignedObject, BytesBelongToOneField) {
  AskedObject moved = asked();
  moved.build.target += moved.build.codegen.substr(0, 1);
  moved.build.codegen.erase(0, 1);
  EXPECT_THAT(refused(moved, built_), HasSubstr("not signed"));
}

}  // namespace
}  // namespace hone::agent
