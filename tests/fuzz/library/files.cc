#include "tests/fuzz/library/files.h"

#include <hone_compiler.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "tests/fakes/pair_model.h"
#include "tests/fuzz/graph/target.h"

namespace hone::fuzz {
namespace {

std::string bytes_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string some_bytes(size_t n) {
  std::mt19937_64 rng(n);
  std::string out;
  while (out.size() < n) out += static_cast<char>(rng());
  return out;
}

void require_ok(int32_t code) {
  if (code != HONE_OK) throw std::runtime_error(hone_last_error());
}

}  // namespace

Files::Files() {
  const auto write = [&](const std::string& name, const std::string& bytes) {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  };
  const auto add = [](std::vector<std::string>* to, const std::vector<std::string>& more) {
    to->insert(to->end(), more.begin(), more.end());
  };
  std::filesystem::create_directory(path("folder"));
  std::filesystem::create_symlink(path("loop"), path("loop"));
  const std::vector<std::string> none = {"",
                                         "no such file",
                                         path("folder"),
                                         path("loop"),
                                         path("folder/../no/such"),
                                         "/dev/null",
                                         "/proc/self/mem",
                                         path("two\nlines"),
                                         path("\xff\xfe\x80"),
                                         "-",
                                         "--help",
                                         "-o",
                                         "-",
                                         "x=y",
                                         "%s%n%s",
                                         std::string(300, 'n'),
                                         std::string(70000, '/'),
                                         std::string(70000, 'x'),
                                         path(std::string(5000, '.'))};
  PairModel().write(path("pair.onnx"));
  TestModel named;
  named.input("x", {"batch", 8}).floats("w", {8, 4}, std::vector<float>(32, 1)).node("MatMul", {"x", "w"}, {"y"});
  write("batch.onnx", named.output("y").model.SerializeAsString());
  const std::string pair = bytes_of_file(path("pair.onnx"));
  seeds_ = onnx_seeds();
  seeds_.push_back(pair);
  models_ = {path("pair.onnx"),
             path("pair.onnx"),
             path("batch.onnx"),
             write("cut.onnx", pair.substr(0, 90)),
             write("bytes.onnx", some_bytes(2000)),
             write("empty.onnx", ""),
             write("text.onnx", "a model\n"),
             write("\xc3\xa4 \xff.onnx", pair)};
  add(&models_, none);

  const char* const one[] = {"--threads=1"};
  const char* const several[] = {"--threads=1|2", "--bind=batch=1|4"};
  const std::string weights = "--weights=" + path("apart.weights");
  const char* const apart[] = {"--threads=2", weights.c_str()};
  require_ok(hone_compile(path("pair.onnx").c_str(), path("pair.so").c_str(), one, 1, nullptr, nullptr));
  require_ok(hone_compile(path("batch.onnx").c_str(), path("batch.so").c_str(), several, 2, nullptr, nullptr));
  require_ok(hone_compile(path("batch.onnx").c_str(), path("apart.so").c_str(), apart, 2, nullptr, nullptr));
  require_ok(hone_compile_operator("dense(m=3,n=5,k=7)", path("dense.so").c_str(), one, 1, nullptr, nullptr));
  const std::string library = bytes_of_file(path("pair.so"));
  write("cut.so", library.substr(0, library.size() / 2));
  write("head.so", library.substr(0, 64));
  std::string other = library;
  other[18] = 40;  // for ARM
  artifacts_ = {path("pair.so"),
                path("batch.so"),
                path("apart.so"),
                path("dense.so"),
                path("cut.so"),
                path("head.so"),
                write("arm.so", other),
                write("bytes.so", some_bytes(5000)),
                write("text.so",
                      "\x7f"
                      "ELF is not all of it"),
                path("pair.onnx"),
                "libc.so.6",
                "/proc/self/exe"};
  add(&artifacts_, none);

  const std::string hub = "--db=" + path("hub.db");
  const char* const make[] = {hub.c_str(), "import", nullptr};
  const std::string records = write("records.jsonl", "{\"not\": \"a record\"}\n");
  const char* const words[] = {make[0], make[1], records.c_str()};
  hone_tophub(words, 3, nullptr);
  const std::string database = bytes_of_file(path("hub.db"));
  databases_ = {path("hub.db"),
                path("hub.db"),
                path("new.db"),
                write("bytes.db", some_bytes(9000)),
                write("cut.db", database.substr(0, database.size() / 3)),
                write("head.db", database.substr(0, 100)),
                write("odd.db", database.substr(0, database.size() / 2) + some_bytes(4000)),
                path("pair.onnx"),
                path("no/such/hub.db"),
                "/proc/hub.db",
                path(":memory:"),
                path("file:hub.db?mode=memory")};
  // A tophub that is not there is made, wherever its name says.
  for (const std::string& name : none) databases_.push_back(name.empty() || name[0] == '/' ? name : path(name));
  texts_ = {
      records,
      write("bytes.txt", some_bytes(3000)),
      write("empty.txt", ""),
      write("tasks.txt", "dense(m=8,n=8,k=8)  2\n"),
      write("flags.toml", "threads=1\ntarget=\"llvm\"\n"),
      write("wrong.toml", "[[[\nthreads==\n\"\n"),
      write("log.json", "{\"input\": [\"llvm\", \"dense\", [], {}], \"config\": {}, \"result\": [[1], 0, 1, 1]}\n"),
      write("deep.json", std::string(100000, '[')),
      path("pair.onnx")};
  add(&texts_, none);
}

std::string Files::changed_model(const std::string& folder, std::mt19937_64& rng) const {
  std::string bytes = seeds_[rng() % seeds_.size()];
  for (uint64_t n = 1 + rng() % 3; n > 0; --n) bytes = mutate_onnx(bytes, rng);
  std::string name = folder + "/changed.onnx";
  std::ofstream(name, std::ios::binary) << bytes;
  return name;
}

}  // namespace hone::fuzz
