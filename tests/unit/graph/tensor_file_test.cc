// Samples that others made: .npy and .pb files that are right, wrong, endless or larger than there is memory for.
#include "compiler/frontend/tensor_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "compiler/frontend/npy_header.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/test_model.h"
#include "tests/unit/graph/read_graph.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The beginning of a file with this dict.
std::string npy(const std::string& dict, size_t length) {
  std::string out = "\x93NUMPY";
  out += {'\1', '\0', static_cast<char>(length & 255), static_cast<char>(length >> 8)};
  return out + dict;
}
std::string npy(const std::string& dict) { return npy(dict, dict.size()); }

TensorType type_of(const std::string& dict) { return npy_header(npy(dict)).type; }
std::string refusal(const std::string& dict) {
  return refusal_of([&] { type_of(dict); });
}

TEST(NpyHeader, IsADictOfThreeKeys) {
  EXPECT_EQ(type_of("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }   \n"), (TensorType{f32, {1, 3}}));
  EXPECT_EQ(type_of("{'descr':'<i8','fortran_order':False,'shape':()}"), (TensorType{i64, {}}));
  EXPECT_EQ(type_of("{'descr': '|u1', 'fortran_order': False, 'shape': (7,)}"), (TensorType{u8, {7}}));
  EXPECT_EQ(type_of("{'shape': (2, 0, 3, ), 'fortran_order': False, 'descr': '|b1', }"),
            (TensorType{boolean, {2, 0, 3}}));
  const std::string dict = "{'descr': '<f2', 'fortran_order': False, 'shape': (2,), }\n";
  EXPECT_EQ(npy_header(npy(dict) + "\1\2\3\4").bytes, 10 + dict.size());
}

TEST(NpyHeader, WhatIsNoneIsRefused) {
  EXPECT_EQ(refusal("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }"), "columns come first in it; rows must");
  EXPECT_EQ(refusal("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }"),
            "elements of numpy's type '>f4' are not supported");
  EXPECT_EQ(refusal("{'descr': '" + std::string(3000, '\x1b') + "', 'fortran_order': False, 'shape': (1,), }"),
            "elements of numpy's type '" + std::string(20, ' ') + "…' are not supported");
  for (const char* dict :
       {"", "{", "{}", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), ",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } x",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f4, 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (,), }"})
    EXPECT_EQ(refusal(dict), "its header is not understood") << dict;
  EXPECT_THAT(refusal("{'descr': '<f4', 'fortran_order': False, 'shape': (16777216, 16777216, 2), }"),
              HasSubstr("has more than 2^48 elements"));
  for (const char* begin : {"", "\x93NUMPY", "\x93NUMPX\1\0\0\0", "\x93NUMPY\2\1\1\1"})
    EXPECT_EQ(refusal_of([&] { npy_header(std::string(begin) + "{}"); }), "it is no .npy file of version 1");
  EXPECT_EQ(refusal_of([] { npy_header(npy("{}", 300)); }), "it is truncated");
}

// Each recursed a frame a character once.
TEST(NpyHeader, ThatIsLongIsRefused) {
  const std::string honest = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
  EXPECT_EQ(type_of(honest + std::string(4000, ' ')), (TensorType{f32, {1}}));
  EXPECT_EQ(refusal(honest + std::string(65000 - honest.size(), ' ')),
            "its header has 65000 bytes; 4096 at most are read");
  std::string ones;
  for (int i = 0; i < 32; ++i) ones += "1,";
  EXPECT_EQ(type_of("{'descr': '<f4', 'fortran_order': False, 'shape': (" + ones + "), }").shape.size(), 32u);
  EXPECT_EQ(refusal("{'descr': '<f4', 'fortran_order': False, 'shape': (" + ones + "1), }"),
            "it has more than 32 axes");
}

class TensorFile : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::string written(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  // The refusal without the path at its beginning.
  std::string refusal(const std::string& file, int64_t wanted_bytes = INT64_MAX) const {
    const std::string text = refusal_of([&] { read_tensor_file(file, wanted_bytes); });
    EXPECT_TRUE(text.starts_with(file + ": ")) << text;
    return text.substr(std::min(text.size(), file.size() + 2));
  }

  const std::string header_ = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }\n");
  const TemporaryFolder folder_;
};

TEST_F(TensorFile, IsReadWhole) {
  EXPECT_THAT(read_tensor_file(written("a.npy", header_ + "\1\2\3")).numbers(), ElementsAre(1, 2, 3));
  // More bytes than are read at first.
  const std::string many(10000, '\7');
  const TensorData large =
      read_tensor_file(written("b.npy", npy("{'descr': '|u1', 'fortran_order': False, 'shape': (10000,), }\n") + many));
  EXPECT_EQ(std::string(large.bytes().begin(), large.bytes().end()), many);
  onnx::Tensor t;
  t.set_data_type(kInt64);
  t.add_dims(2);
  t.add_int64_data(5);
  t.add_int64_data(-5);
  EXPECT_THAT(read_tensor_file(written("a.pb", t.SerializeAsString()), 16).numbers(), ElementsAre(5, -5));
}

TEST_F(TensorFile, OfOtherBytesThanItsTypeSaysIsRefused) {
  EXPECT_EQ(refusal(written("a.npy", header_ + "\1\2")), "u8[3] takes 3 bytes; it has 2");
  EXPECT_EQ(refusal(written("b.npy", header_ + "\1\2\3\4")), "u8[3] takes 3 bytes; it has 4");
  EXPECT_EQ(refusal(written("c.npy", "")), "it is no .npy file of version 1");
  EXPECT_EQ(refusal(written("c.pb", "hello")), "it is not an ONNX tensor");
}

// The pipe has no writer, and the device has no end.
TEST_F(TensorFile, ThatIsNoPlainFileIsRefusedWithoutWaiting) {
  for (const char* name : {"pipe.npy", "pipe.pb"}) {
    ASSERT_EQ(mkfifo(path(name).c_str(), 0600), 0);
    EXPECT_EQ(refusal(path(name)), "it is a pipe, not a plain file");
  }
  for (const char* name : {"zero.npy", "zero.pb"}) {
    ASSERT_EQ(symlink("/dev/zero", path(name).c_str()), 0);
    EXPECT_EQ(refusal(path(name)), "it is a device, not a plain file");
  }
  EXPECT_EQ(refusal(path("none.npy")), "No such file or directory");
}

// These files have no bytes on the disk: nothing of them is read.
TEST_F(TensorFile, OfFarMoreThanIsWantedIsRefusedUnread) {
  const std::string large =
      written("a.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,), }"));
  ASSERT_EQ(truncate(large.c_str(), static_cast<off_t>(std::filesystem::file_size(large)) + (off_t{1} << 42)), 0);
  EXPECT_EQ(refusal(large, 64), "f32[1099511627776] takes 4398046511104 bytes; wanted are 64");
  ASSERT_EQ(truncate(written("a.pb", "").c_str(), off_t{1} << 42), 0);
  EXPECT_EQ(refusal(path("a.pb"), 64), "it is larger than 10 MiB");
  EXPECT_EQ(refusal(path("a.pb")), "it is larger than 2147483647 bytes");
}

}  // namespace
}  // namespace hone
