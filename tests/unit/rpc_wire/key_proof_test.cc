#include "rpc/wire/access/key_proof.h"

#include <gmock/gmock.h>

#include "tests/fakes/temporary_folder.h"

namespace hone::wire {
namespace {

using testing::HasSubstr;

class KeyProofTest : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const SigningKey key_ = SigningKey::load_or_make(folder_.path() + "/a").value(),
                   other_ = SigningKey::load_or_make(folder_.path() + "/b").value();
  const std::string name_ = key_.public_key().fingerprint(), challenge_ = random_bytes(kNonceBytes);
};

TEST_F(KeyProofTest, IsOfTheKeyTheChallengeAndTheDevice) {
  const KeyProof proof = prove_key(key_, challenge_, "strong/builder");
  EXPECT_TRUE(check_key_proof(proof, challenge_, name_).ok());
  EXPECT_FALSE(check_key_proof(proof, random_bytes(kNonceBytes), name_).ok()) << "a replay";
  EXPECT_FALSE(check_key_proof(proof, "", name_).ok()) << "nobody asked";
  KeyProof stolen = proof;
  stolen.device = "mallory/builder";
  EXPECT_FALSE(check_key_proof(stolen, challenge_, name_).ok()) << "another device's";
  EXPECT_THAT(message_of(check_key_proof(prove_key(other_, challenge_, "strong/builder"), challenge_, name_)),
              HasSubstr("not the one that the label names"));
  KeyProof forged = prove_key(other_, challenge_, "strong/builder");
  forged.public_key = key_.public_key().raw();
  EXPECT_THAT(message_of(check_key_proof(forged, challenge_, name_)), HasSubstr("was not signed by the key"));
  for (const std::string& wrong : {std::string(), std::string(31, 'x'), std::string(33, 'x')}) {
    KeyProof bad = proof;
    bad.public_key = wrong;
    EXPECT_FALSE(check_key_proof(bad, challenge_, name_).ok());
    bad = proof;
    bad.signature = wrong;
    EXPECT_FALSE(check_key_proof(bad, challenge_, name_).ok());
  }
}

TEST_F(KeyProofTest, AKeyIsItsBytes) {
  const std::string raw = key_.public_key().raw();
  EXPECT_EQ(raw.size(), kPublicKeyBytes);
  EXPECT_EQ(PublicKey::from_raw(raw)->fingerprint(), name_);
  EXPECT_NE(other_.public_key().raw(), raw);
}

}  // namespace
}  // namespace hone::wire
