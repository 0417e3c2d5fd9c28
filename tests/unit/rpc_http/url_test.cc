#include "rpc/http/url.h"

#include <gmock/gmock.h>

namespace hone::http {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Url, IsReadAndWritten) {
  const auto url = Url::parse("https://lab.example:9200/tophub/");
  ASSERT_TRUE(url.ok()) << url.status();
  EXPECT_TRUE(url->tls);
  EXPECT_EQ(url->address.host, "lab.example");
  EXPECT_EQ(url->address.port, 9200);
  EXPECT_EQ(url->path, "/tophub");
  EXPECT_EQ(url->text(), "https://lab.example:9200/tophub");
  EXPECT_EQ(url->host_header(), "lab.example:9200");
}

TEST(Url, HasThePortOfItsScheme) {
  EXPECT_EQ(Url::parse("https://lab")->address.port, 443);
  EXPECT_EQ(Url::parse("http://lab/x")->address.port, 80);
  EXPECT_EQ(Url::parse("https://lab:443")->text(), "https://lab");
  EXPECT_EQ(Url::parse("http://[::1]")->text(), "http://[::1]");
  EXPECT_EQ(Url::parse("http://[::1]:9200")->host_header(), "[::1]:9200");
}

TEST(Url, OthersAreRefusedWithoutQuotingASecret) {
  for (const std::string text :
       {"", "lab:9200", "ftp://lab", "https://", "https://:9200", "https://lab:0", "https://lab:99999",
        "https://lab/a b", "https://lab/\x01", "https://lab/caf\xc3\xa9", "https://lab/?a=1", "https://lab/#x",
        "https://unix:/tmp/x", "HTTPS://lab", "https://lab\r\nHost: evil/"}) {
    const auto url = Url::parse(text);
    EXPECT_TRUE(absl::IsInvalidArgument(url.status())) << text;
  }
  const auto url = Url::parse("https://ann:very-secret@lab:9200");
  EXPECT_THAT(message_of(url.status()), HasSubstr("--token-file"));
  EXPECT_THAT(message_of(url.status()), Not(HasSubstr("very-secret")));
}

TEST(Url, ValuesAreEncoded) { EXPECT_EQ(url_encoded("a=1,b c/\xc3\xa9~"), "a%3D1%2Cb%20c%2F%C3%A9~"); }

}  // namespace
}  // namespace hone::http
