#include "rpc/wire/access/signature.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/fakes/temporary_folder.h"

namespace hone::wire {
namespace {

using testing::HasSubstr;

class Signature : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  void write(const std::string& name, const std::string& text) { std::ofstream(path(name)) << text; }
  std::string read(const std::string& name) {
    std::ifstream in(path(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  const TemporaryFolder folder_;
};

TEST_F(Signature, IsOfTheKeyAndTheMessageAlone) {
  const SigningKey key = SigningKey::load_or_make(path("a")).value(),
                   other = SigningKey::load_or_make(path("b")).value();
  const PublicKey trusted = PublicKey::load(path("a.pub")).value();
  const std::string message("of any\0bytes", 12), signature = key.sign(message);
  EXPECT_EQ(signature.size(), 64u);
  EXPECT_TRUE(trusted.verifies(message, signature));
  EXPECT_TRUE(key.public_key().verifies(message, signature));
  EXPECT_FALSE(trusted.verifies(message, other.sign(message)));
  EXPECT_FALSE(trusted.verifies("of any", signature));
  EXPECT_FALSE(trusted.verifies("", signature));
  for (size_t i = 0; i < signature.size(); ++i) {
    std::string changed = signature;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(trusted.verifies(message, changed)) << i;
  }
  for (const std::string& wrong : {std::string(), signature.substr(1), signature + "x", std::string(64, '\0')})
    EXPECT_FALSE(trusted.verifies(message, wrong));
}

TEST_F(Signature, AKeyIsMadeOnceAndKept) {
  const SigningKey made = SigningKey::load_or_make(path("k")).value(),
                   read = SigningKey::load_or_make(path("k")).value();
  EXPECT_EQ(made.public_key().fingerprint(), read.public_key().fingerprint());
  EXPECT_EQ(made.public_key().fingerprint().size(), 16u);
  EXPECT_EQ(PublicKey::load(path("k.pub"))->fingerprint(), read.public_key().fingerprint());
  struct stat info {};
  ASSERT_EQ(stat(path("k").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
}

TEST_F(Signature, BadFilesAreNamed) {
  ASSERT_TRUE(SigningKey::load_or_make(path("k")).ok());
  write("empty", "");
  EXPECT_THAT(message_of(PublicKey::load(path("empty")).status()), HasSubstr("empty: expected a public key in PEM"));
  EXPECT_THAT(message_of(PublicKey::load(path("none")).status()), HasSubstr("none: No such file"));
  EXPECT_THAT(message_of(PublicKey::load(path("k")).status()), HasSubstr("a private key"));
  write("two", read("k.pub") + read("k.pub"));
  EXPECT_THAT(message_of(PublicKey::load(path("two")).status()), HasSubstr("more than one key"));
  write("rsa",
        "-----BEGIN PUBLIC KEY-----\n"
        "MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDZISALawosWwL1SflJ/dVXrRmo\n"
        "U0tE3GlWmWQkN27AO6/zeXIyRvRJte5gwHnE+IAU9RTZwKsTxZFYnZhfYJ8Y/w6K\n"
        "MLO4ttdb0nxJZr9SSIXcWME/HfAx+wq2nGXmggSuNBhgQss1wlqT87RkeWXqQX41\n"
        "QIW5AWSfE9jt21Pz7wIDAQAB\n"
        "-----END PUBLIC KEY-----\n");
  EXPECT_THAT(message_of(PublicKey::load(path("rsa")).status()), HasSubstr("rsa: not a key for Ed25519"));
  EXPECT_THAT(message_of(SigningKey::load_or_make(folder_.path() + "/no/folder").status()), HasSubstr("No such file"));
  write("open", read("k"));
  chmod(path("open").c_str(), 0644);
  EXPECT_THAT(message_of(SigningKey::load_or_make(path("open")).status()), HasSubstr("chmod 600"));
  write("public", read("k.pub"));
  chmod(path("public").c_str(), 0600);
  EXPECT_THAT(message_of(SigningKey::load_or_make(path("public")).status()), HasSubstr("expected a private key"));
}

}  // namespace
}  // namespace hone::wire
