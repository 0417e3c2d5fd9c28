#include "rpc/wire/access/address.h"
#include "rpc/wire/access/credentials.h"

#include <gtest/gtest.h>

#include "rpc/wire/messages/messages.h"

namespace hone::wire {
namespace {

TEST(Address, PrintsWhatItParsed) {
  for (const char* text :
       {"127.0.0.1:9190", "localhost:0", "[::1]:80", "board.lan:65535", "unix:/tmp/x.sock", "unix:relative"}) {
    const auto address = Address::parse(text);
    ASSERT_TRUE(address.ok()) << message_of(address.status());
    EXPECT_EQ(address->text(), text);
  }
}

TEST(Address, RefusesWhatIsNoneInOneLine) {
  for (const char* text : {"", "host", ":1", "host:", "host:x", "host:65536", "host:-1", "host:1x", "::1:80",
                           "unix:", "a b:1", "ho/st:1"}) {
    const auto address = Address::parse(text);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_EQ(message_of(address.status()).find('\n'), std::string::npos);
    EXPECT_NE(message_of(address.status()).find("allowed: HOST:PORT"), std::string::npos);
  }
  EXPECT_FALSE(Address::parse("unix:" + std::string(108, 'x')).ok());
}

TEST(Address, OnlyLoopbackAndUnixSocketsAreOpenWithoutProtection) {
  for (const char* text : {"127.0.0.1:1", "127.8.9.1:1", "localhost:1", "[::1]:1", "unix:/x"})
    EXPECT_TRUE(check_exposure(*Address::parse(text), {}, false, "--listen").ok()) << text;
  for (const char* text : {"0.0.0.0:1", "10.0.0.1:1", "127.example.org:1", "[::]:1", "localhost.example.org:1"}) {
    for (const Protection half : {Protection{}, Protection{.encrypted = true}, Protection{.authenticated = true}}) {
      const Status status = check_exposure(*Address::parse(text), half, false, "--listen");
      EXPECT_FALSE(status.ok()) << text;
      EXPECT_NE(message_of(status).find("--listen"), std::string::npos);
    }
    EXPECT_TRUE(check_exposure(*Address::parse(text), {true, true}, false, "--listen").ok()) << text;
    EXPECT_TRUE(check_exposure(*Address::parse(text), {}, true, "--listen").ok()) << text;
  }
}

TEST(Address, ATokenGoesNowhereElseWithoutTls) {
  Credentials token, tls;
  token.token = "0123456789abcdef";
  tls.ca = "PEM";
  for (const char* text : {"127.0.0.1:1", "unix:/x"})
    EXPECT_TRUE(check_protected(*Address::parse(text), token, false, "--tracker").ok()) << text;
  const Address far = *Address::parse("lab.example:9190");
  const Status status = check_protected(far, token, false, "--tracker");
  EXPECT_NE(message_of(status).find("--tracker lab.example:9190"), std::string::npos) << status;
  EXPECT_NE(message_of(status).find("token"), std::string::npos) << status;
  EXPECT_FALSE(check_protected(far, {}, false, "--tracker").ok());
  EXPECT_TRUE(check_protected(far, tls, false, "--tracker").ok());
  EXPECT_TRUE(check_protected(far, token, true, "--tracker").ok());
}

TEST(Uuid, TextAndBytesRoundTrip) {
  const Uuid uuid = Uuid::random();
  EXPECT_EQ(Uuid::parse(uuid.text()), uuid);
  EXPECT_EQ(Uuid::from_bytes(uuid.bytes()), uuid);
  EXPECT_NE(Uuid::random(), uuid);
  EXPECT_FALSE(Uuid::parse("not a uuid"));
  EXPECT_FALSE(Uuid::parse(std::string(36, '-')));
  EXPECT_FALSE(Uuid::from_bytes("short"));
}

TEST(ResultStatus, NamesRoundTrip) {
  for (const ResultStatus status : kAllResultStatuses) EXPECT_EQ(parse_result_status(name(status)), status);
  EXPECT_EQ(name(ResultStatus::kWrongResult), "wrong_result");
  EXPECT_FALSE(parse_result_status("fine"));
}

}  // namespace
}  // namespace hone::wire
