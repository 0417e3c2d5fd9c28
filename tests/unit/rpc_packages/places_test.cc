// Places over the network, and servers that are slow, gone, or say something else.
#include "rpc/packages/places.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "rpc/packages/remote_places.h"
#include "tests/fakes/scripted_server.h"

namespace hone::packages {
namespace {

using fakes::http_answer;
using fakes::ScriptedServer;
using testing::HasSubstr;
using Peer = ScriptedServer::Peer;

Access access_to(const ScriptedServer& server, const std::string& path = "") {
  Access access;
  access.client = http::HttpClient::make(http::Url::parse(server.url() + path).value()).value();
  access.patience = std::chrono::milliseconds(300);
  return access;
}

void expect_error(const Status& status, absl::StatusCode code, const std::string& part) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(message_of(status), HasSubstr(part));
  EXPECT_EQ(message_of(status).find('\n'), std::string::npos) << status;
}

ScriptedServer::Script always(const std::string& text) {
  return [text](const Peer& peer) { return peer.say(text), false; };
}

const db::BlobRef kBlob = db::blob_ref("hello");

// The error of reading kBlob from a server with this script.
Status read_from(const ScriptedServer::Script& script) {
  ScriptedServer server(script);
  return db::read_blob(*web_place(access_to(server, "/p")), kBlob).status();
}

TEST(WebPlace, AsksForBlobsByTheirDigestsAlone) {
  ScriptedServer server(always(http_answer("hello")));
  const auto place = web_place(access_to(server, "/folder"));
  EXPECT_EQ(place->name(), server.url() + "/folder");
  EXPECT_EQ(db::read_blob(*place, kBlob).value(), "hello");
  EXPECT_THAT(server.heads().at(0), HasSubstr("GET /folder/blobs/sha256/" + kBlob.sha256 + " HTTP/1.1"));
}

TEST(WebPlace, OtherBytesAreRefused) {
  expect_error(read_from(always(http_answer("jello"))), absl::StatusCode::kInvalidArgument, "others than its digest");
  expect_error(read_from(always(http_answer("hell"))), absl::StatusCode::kInvalidArgument, "4 bytes instead of 5");
  expect_error(read_from(always(http_answer("hello!"))), absl::StatusCode::kInvalidArgument, "larger than the 5 bytes");
  EXPECT_FALSE(read_from(always(http_answer(std::string(1 << 20, 'x')))).ok());
}

TEST(WebPlace, AnswersWithoutEndAreNotReadToTheEnd) {
  const Status status = read_from([](const Peer& peer) {
    peer.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 100'000 && !peer.ending; ++i) peer.say("3e8\r\n" + std::string(1000, 'x') + "\r\n");
    return false;
  });
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(message_of(status).find('\n'), std::string::npos) << status;
}

TEST(WebPlace, SlowGoneAndCutAreUnavailable) {
  for (const auto& script : std::vector<ScriptedServer::Script>{
           [](const Peer& peer) { return peer.wait(std::chrono::seconds(5)), false; },
           [](const Peer&) { return false; }, always("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"),
           always("nonsense\r\n\r\n")}) {
    const auto begin = std::chrono::steady_clock::now();
    expect_error(read_from(script), absl::StatusCode::kUnavailable, "127.0.0.1");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(4));
  }
  expect_error(read_from(always(http_answer("", "500 Oops"))), absl::StatusCode::kUnavailable, "status 500");
}

TEST(WebPlace, RefusalsAndRedirectionsSaySo) {
  expect_error(read_from(always(http_answer("", "401 Unauthorized"))), absl::StatusCode::kPermissionDenied, "--auth");
  expect_error(read_from(always(http_answer("", "404 Not Found"))), absl::StatusCode::kNotFound, "status 404");
  const Status elsewhere = read_from(always(http_answer("", "302 Found", "Location: http://127.0.0.2/x\r\n")));
  EXPECT_FALSE(elsewhere.ok());
  EXPECT_EQ(message_of(elsewhere).find('\n'), std::string::npos) << elsewhere;
}

TEST(WebPlace, IndexesAreBoundedAndParsed) {
  for (const std::string& index : {std::string("{"), std::string(), std::string(1 << 20, '['), std::string("null")}) {
    ScriptedServer server(always(http_answer(index)));
    const auto manifest = web_place(access_to(server))->manifest();
    EXPECT_FALSE(manifest.ok());
    EXPECT_EQ(message_of(manifest.status()).find('\n'), std::string::npos) << manifest.status();
  }
}

TEST(RegistryPlace, ReadsByTagAndDigestAndSaysWhoAsks) {
  ScriptedServer server(always(http_answer("hello")));
  Access access = access_to(server);
  access.authorization = "Basic c2VjcmV0";
  const auto place = registry_place(std::move(access), "team/zen5", "latest");
  EXPECT_THAT(place->name(), testing::MatchesRegex("127\\.0\\.0\\.1:[0-9]+/team/zen5"));
  EXPECT_EQ(place->manifest().value(), "hello");
  EXPECT_EQ(db::read_blob(*place, kBlob).value(), "hello");
  EXPECT_THAT(server.heads().at(0), HasSubstr("GET /v2/team/zen5/manifests/latest "));
  EXPECT_THAT(server.heads().at(0), HasSubstr("application/vnd.oci.image.manifest.v1+json"));
  EXPECT_THAT(server.heads().at(0), HasSubstr("Authorization: Basic c2VjcmV0"));
  EXPECT_THAT(server.heads().at(1), HasSubstr("GET /v2/team/zen5/blobs/sha256:" + kBlob.sha256 + " "));
}

TEST(RegistryPlace, UploadsGoToTheRegistryItselfAlone) {
  const std::string path = (std::filesystem::temp_directory_path() / "hone_places_test").string();
  std::ofstream(path) << "hello";
  for (const char* location : {"http://127.0.0.2:1/steal", "//evil/x", "evil", "/a b"}) {
    ScriptedServer server([&](const Peer& peer) {
      if (peer.head.starts_with("HEAD")) peer.say("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
      if (peer.head.starts_with("POST"))
        peer.say(http_answer("", "202 Accepted", std::string("Location: ") + location + "\r\n"));
      return false;
    });
    const Status put = registry_place(access_to(server), "zen5", "latest")->put({{kBlob, path}}, "{}", {});
    EXPECT_FALSE(put.ok());
    EXPECT_EQ(message_of(put).find('\n'), std::string::npos) << put;
    for (const std::string& head : server.heads()) EXPECT_FALSE(head.starts_with("PUT")) << head;
  }
  std::filesystem::remove(path);
}

TEST(Connect, RefusesWhatIsNoPlace) {
  for (const char* source : {"ftp://host/x", "https://", "https://user:pass@host/x", "http://192.0.2.1/x",
                             "host.example/", "host.example/UPPER", "host.example/a/../b", "host.example/a//b",
                             "host.example/a:b/c", "host.example/a:", "host.example/a b", "host.example:99999/a"}) {
    const auto place = connect(source, {});
    EXPECT_FALSE(place.ok()) << source;
    EXPECT_EQ(message_of(place.status()).find('\n'), std::string::npos) << place.status();
  }
  EXPECT_EQ(connect("hone.example.org/team/zen5", {}).value()->name(), "hone.example.org/team/zen5");
  EXPECT_EQ(connect("hone.example.org/team/zen5:nightly", {}).value()->name(), "hone.example.org/team/zen5:nightly");
  EXPECT_EQ(connect("https://hone.example.org/zen5/", {}).value()->name(), "https://hone.example.org/zen5");
}

TEST(Connect, ReadsSecretsFromFilesOfTheirOwnersAlone) {
  const std::string path = (std::filesystem::temp_directory_path() / "hone_places_auth").string();
  std::ofstream(path) << "ann:secret\n";
  chmod(path.c_str(), 0644);
  EXPECT_FALSE(connect("hone.example.org/zen5", {path, ""}).ok());
  chmod(path.c_str(), 0600);
  EXPECT_TRUE(connect("hone.example.org/zen5", {path, ""}).ok());
  std::ofstream(path) << "two\nlines\n";
  const auto place = connect("hone.example.org/zen5", {path, ""});
  EXPECT_FALSE(place.ok());
  EXPECT_EQ(message_of(place.status()).find("lines"), std::string::npos) << "a secret is not quoted";
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace hone::packages
