// Packages with real signatures: in folders, on a web server, in a registry; and servers that are gone, slow or lie.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <thread>

#include "base/child_process.h"
#include "base/json.h"
#include "tests/e2e/sharing/workplace.h"

namespace hone {
namespace {

using testing::HasSubstr;

// A port of the loopback that nobody has now.
int free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET, address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("no port");
  close(fd);
  return ntohs(address.sin_port);
}

bool answers(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET, address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  const bool ok = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return ok;
}

// A server that lives as long as this does.
ChildProcess serve(const std::vector<std::string>& argv, int port) {
  ChildOptions options;
  options.argv = argv;
  options.stdout_fd = options.stderr_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
  StatusOr<ChildProcess> child = ChildProcess::spawn(options);
  close(options.stdout_fd);
  if (!child.ok()) throw std::runtime_error(message_of(child.status()));
  for (int i = 0; i < 500 && !answers(port); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return *std::move(child);
}

std::string program(const std::string& name) {
  std::string path = shell("command -v " + name).output;
  if (!path.empty()) path.pop_back();
  return path;
}

class SharedPackages : public Workplace {
 protected:
  SharedPackages() {
    expect_ok(run("tophub import " + std::string(HONE_SOURCE_DIR) + "/db/packages/cuda-sm_90.jsonl", "maker"));
    const Ran packed = run("tophub pack lab -o lab --json", "maker");
    expect_ok(packed);
    if (packed.code == 0) fingerprint = Json::parse(packed.output)["fingerprint"];
  }
  Ran pull(const std::string& from, const std::string& more = "") { return run("tophub pull " + from + " " + more); }
  std::string trust() const { return "--trust " + fingerprint; }
  Ran web(const std::string& folder, int* port) {
    *port = free_port();
    server = serve({program("python3"), "-m", "http.server", std::to_string(*port), "--bind", "127.0.0.1",
                    "--directory", at(folder)},
                   *port);
    return {answers(*port) ? 0 : 1, ""};
  }

  std::string fingerprint;
  ChildProcess server;
};

TEST_F(SharedPackages, AFolderIsPulledVerifiedAndReadByBuilds) {
  expect_refused(pull("lab"),
                 "which nobody here trusts yet; compare it with what its owner says, and give --trust " + fingerprint);
  const Ran pulled = pull("lab", "--trust maker/.config/hone/package-key.pub");
  expect_ok(pulled);
  EXPECT_THAT(pulled.output, HasSubstr("pulled lab 1 from "));
  EXPECT_THAT(pulled.output, HasSubstr("trusted for this place from now on"));
  expect_ok(pull("lab"));
  EXPECT_THAT(run("tophub verify").output, HasSubstr("whole: lab 1 from "));
  EXPECT_THAT(run("tophub verify lab").output, HasSubstr("whole: lab 1 at "));
  expect_ok(pull("lab", "--merge"));
  EXPECT_THAT(run("tophub stats --json").output, HasSubstr("\"best\":"));
}

TEST_F(SharedPackages, ANewerOneReplacesAndAnOlderOneIsRefused) {
  expect_ok(pull("lab", trust()));
  expect_ok(run("tophub push lab old", "maker"));
  expect_ok(run("tophub pack lab -o lab", "maker"));
  const Ran newer = pull("lab");
  expect_ok(newer);
  EXPECT_THAT(newer.output, HasSubstr("pulled lab 2"));
  std::filesystem::remove_all(at("lab"));
  std::filesystem::rename(at("old"), at("lab"));
  expect_refused(pull("lab"), "'lab' 1 is older than 2");
  EXPECT_THAT(run("tophub verify").output, HasSubstr("whole: lab 2"));
}

TEST_F(SharedPackages, ASignatureByAnotherIsRefused) {
  expect_ok(pull("lab", trust()));
  std::filesystem::remove_all(at("lab"));
  expect_ok(run("tophub import " + std::string(HONE_SOURCE_DIR) + "/db/packages/cuda-sm_90.jsonl", "thief"));
  expect_ok(run("tophub pack lab -o lab --number 7", "thief"));
  expect_refused(pull("lab"), "signed by another key than so far");
  EXPECT_THAT(run("tophub verify").output, HasSubstr("whole: lab 1"));
}

TEST_F(SharedPackages, AStatementThatWasChangedHasNoSignature) {
  // Ed25519 over the true bytes: one digit of the statement, with its digests made to fit.
  const std::string blobs = "lab/blobs/sha256/";
  const Json index = Json::parse(read("lab/index.json"));
  const auto digest = [](const Json& j) { return j["digest"].get<std::string>().substr(7); };
  Json manifest = Json::parse(read(blobs + digest(index["manifests"][0])));
  std::string statement = read(blobs + digest(manifest["config"]));
  const size_t at = statement.find("\"number\": 1");
  ASSERT_NE(at, std::string::npos);
  statement[at + 10] = '2';
  write(blobs + sha256_hex(statement), statement);
  manifest["config"]["digest"] = "sha256:" + sha256_hex(statement);
  const std::string text = manifest.dump();
  write(blobs + sha256_hex(text), text);
  Json changed = index;
  changed["manifests"][0]["digest"] = "sha256:" + sha256_hex(text);
  changed["manifests"][0]["size"] = text.size();
  write("lab/index.json", changed.dump());
  expect_refused(pull("lab", trust()), "its signature is not one of its statement");
}

TEST_F(SharedPackages, AWebServersFilesArePulled) {
  int port = 0;
  ASSERT_EQ(web(".", &port).code, 0);
  const std::string url = "http://127.0.0.1:" + std::to_string(port);
  const Ran pulled = pull(url + "/lab", trust());
  expect_ok(pulled);
  EXPECT_THAT(pulled.output, HasSubstr("pulled lab 1 from " + url + "/lab"));
  expect_refused(pull(url + "/none", trust()), "there is nothing (status 404)");
  expect_refused(run("tophub push lab " + url + "/x"), "a web server takes no packages");
  write("lab/blobs/sha256/" + std::string(64, '0'), "x");
  server = {};
  expect_refused(pull(url + "/lab"), "127.0.0.1", 5);
  EXPECT_THAT(run("tophub verify").output, HasSubstr("whole: lab 1")) << "what is installed stays";
}

TEST_F(SharedPackages, ARegistryCarriesThem) {
  const std::string registry = program("docker-registry");
  if (registry.empty()) GTEST_SKIP() << "docker-registry is not installed";
  const int port = free_port();
  write("registry.yml", "version: 0.1\nlog: {level: error}\nstorage:\n  filesystem: {rootdirectory: " + at("blobs") +
                            "}\nhttp: {addr: '127.0.0.1:" + std::to_string(port) + "'}\n");
  server = serve({registry, "serve", at("registry.yml")}, port);
  const std::string place = "127.0.0.1:" + std::to_string(port) + "/team/lab";
  const Ran pushed = run("tophub push lab " + place, "maker");
  expect_ok(pushed);
  EXPECT_THAT(pushed.output, HasSubstr("pushed lab 1 to " + place));
  const Ran pulled = pull(place, trust());
  expect_ok(pulled);
  EXPECT_THAT(pulled.output, HasSubstr("pulled lab 1 from " + place));
  expect_ok(run("tophub push lab " + place, "maker"));  // again: blobs are there
  std::filesystem::remove_all(at("lab"));
  expect_ok(run("tophub push lab " + place + " --number 10", "maker"));
  EXPECT_THAT(pull(place).output, HasSubstr("pulled lab 10"));
  expect_refused(pull(place + ":1"), "which nobody here trusts yet");
  expect_refused(pull("127.0.0.1:" + std::to_string(port) + "/team/none", trust()), "status 404");
}

TEST_F(SharedPackages, ServersThatAnswerNonsenseAreRefusedInOneLine) {
  for (const char* text :
       {"", "{", "[]", "{\"manifests\":[]}", "{\"manifests\":[{\"digest\":\"../../x\",\"size\":1}]}"}) {
    std::filesystem::create_directories(at("liar"));
    write("liar/index.json", text);
    int port = 0;
    ASSERT_EQ(web("liar", &port).code, 0);
    const Ran ran = pull("http://127.0.0.1:" + std::to_string(port), trust());
    EXPECT_EQ(ran.code, 2) << ran.output;
    EXPECT_EQ(std::count(ran.output.begin(), ran.output.end(), '\n'), 1) << ran.output;
  }
  EXPECT_THAT(run("tophub verify").output, HasSubstr("no packages in "));
}

}  // namespace
}  // namespace hone
