#include <gmock/gmock.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <functional>

#include "compiler/arith/verify.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/structural_hash.h"
#include "ir.pb.h"
#include "rpc/ir/decode.h"
#include "rpc/ir/encode.h"
#include "tests/fakes/sample_modules.h"

namespace hone {
namespace {

using ::testing::HasSubstr;

proto::IrModule proto_of(const Module& m) {
  proto::IrModule message;
  EXPECT_TRUE(message.ParseFromString(encode(m)));
  return message;
}

// Whether verify() takes `m`; it may refuse in one way only.
bool is_legal(const Module& m) {
  try {
    verify(m);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

std::string error_of(const proto::IrModule& message, const DecodeLimits& limits = {}) {
  const auto m = decode(message.SerializeAsString(), limits);
  if (m.ok()) return "no error";
  EXPECT_EQ(message_of(m.status()).find('\n'), std::string::npos);
  return message_of(m.status());
}

TEST(Codec, RoundTripsTextHashAndBytes) {
  Module dynamic = sample_module();
  dynamic.partition = Partition::kDynamic;
  for (const Module& m : {sample_module(), vector_module(), prefetch_module(), dot_module(), dynamic, Module{}}) {
    const std::string bytes = encode(m);
    const auto back = decode(bytes);
    ASSERT_TRUE(back.ok()) << message_of(back.status());
    EXPECT_EQ(to_string(*back), to_string(m));
    EXPECT_EQ(content_hash(*back), content_hash(m));
    EXPECT_EQ(encode(*back), bytes);
  }
}

TEST(Codec, EqualProgramsEncodeEqually) {
  EXPECT_EQ(encode(sample_module()), encode(sample_module()));
  EXPECT_NE(encode(sample_module()), encode(sample_module("x")));
}

TEST(Codec, EqualExpressionsAreWrittenOnce) {
  const Var i("i");
  const Buffer c = make_buffer("C", i64, {64});
  std::vector<Stmt> stores;
  for (int n = 0; n < 10; ++n) stores.push_back(make_store(c, {Expr(i) * 3 + 1}, Expr(i) * 3 + 1));
  Module m;
  m.kernels = {{"k", {c}, {}, serial(i, 20, make_seq(stores))}};
  EXPECT_LE(proto_of(m).exprs_size(), 10);
}

TEST(Decode, NamesWhatIsWrong) {
  const proto::IrModule good = proto_of(sample_module());
  const auto with = [&](auto&& change) {
    proto::IrModule m = good;
    change(m);
    return error_of(m);
  };
  EXPECT_EQ(with([](auto&) {}), "no error");
  EXPECT_THAT(with([](auto& m) { m.set_version(9); }), HasSubstr("version 9 is not 1"));
  EXPECT_THAT(with([](auto& m) { m.mutable_exprs(3)->set_kind(11); }), HasSubstr("expression kind 11 does not exist"));
  EXPECT_THAT(with([](auto& m) { m.mutable_exprs(0)->set_dtype(7u << 24); }),
              HasSubstr("type code 0x7000000 does not exist"));
  EXPECT_THAT(with([](auto& m) { m.mutable_stmts(0)->set_kind(6); }), HasSubstr("statement kind 6 does not exist"));
  EXPECT_THAT(with([](auto& m) { m.mutable_vars(0)->set_dtype(0u << 24 | 32u << 16 | 1); }),
              HasSubstr("variable 0 has type s32"));
  EXPECT_THAT(with([](auto& m) { m.mutable_vars(0)->set_name("a\nb"); }), HasSubstr("control characters"));
  EXPECT_THAT(with([](auto& m) { m.mutable_vars(0)->set_name(std::string(200, 'a')); }),
              HasSubstr("a name of 200 bytes, more than 128"));
  EXPECT_THAT(with([](auto& m) { m.mutable_buffers(0)->set_scope(4); }), HasSubstr("scope 4 does not exist"));
  EXPECT_THAT(with([](auto& m) { m.mutable_functions(0)->set_body(99999); }),
              HasSubstr("statement 99999 does not exist"));
  EXPECT_THAT(with([](auto& m) { m.set_kernels(0, 7); }), HasSubstr("function 7 does not exist"));
  EXPECT_THAT(with([](auto& m) { m.mutable_params(0)->set_role(3); }), HasSubstr("role 3 does not exist"));
  EXPECT_THAT(with([](auto& m) { m.mutable_params(0)->mutable_layout(0)->set_axis(4); }),
              HasSubstr("layout that is out of range"));
  EXPECT_THAT(with([](auto& m) { m.set_workspace_bytes(-1); }), HasSubstr("a workspace of -1 bytes"));
  EXPECT_THAT(with([](auto& m) { m.set_partition(2); }), HasSubstr("partition 2 does not exist"));
  EXPECT_THAT(with([](auto& m) { m.mutable_prepacks(0)->set_param(8); }), HasSubstr("parameter 8 does not exist"));
  EXPECT_THAT(with([](auto& m) {
                for (auto& e : *m.mutable_exprs())
                  if (e.kind() == static_cast<uint32_t>(ExprKind::kBinary)) e.set_operands(0, 60000);
              }),
              HasSubstr("expression 60000 is used before it is built"));
  EXPECT_THAT(with([](auto& m) {
                for (auto& e : *m.mutable_exprs())
                  if (e.kind() == static_cast<uint32_t>(ExprKind::kCall)) e.set_op(kIntrinsicCount);
              }),
              HasSubstr("function " + std::to_string(kIntrinsicCount) + " does not exist"));
  EXPECT_THAT(with([](auto& m) {
                for (auto& e : *m.mutable_exprs())
                  if (e.kind() == static_cast<uint32_t>(ExprKind::kSelect)) e.set_operands(0, e.operands(1));
              }),
              HasSubstr("the condition of a select of f32 has type f32"));
}

TEST(Decode, RefusesWhatIsTooLarge) {
  const Module m = sample_module();
  const auto with = [&](auto&& change) {
    DecodeLimits limits;
    change(limits);
    return error_of(proto_of(m), limits);
  };
  EXPECT_THAT(with([](auto& l) { l.bytes = 100; }), HasSubstr("more than 100"));
  EXPECT_THAT(with([](auto& l) { l.vars = 2; }), HasSubstr("variables, more than 2"));
  EXPECT_THAT(with([](auto& l) { l.buffers = 2; }), HasSubstr("buffers, more than 2"));
  EXPECT_THAT(with([](auto& l) { l.exprs = 2; }), HasSubstr("expressions, more than 2"));
  EXPECT_THAT(with([](auto& l) { l.stmts = 2; }), HasSubstr("statements, more than 2"));
  EXPECT_THAT(with([](auto& l) { l.functions = 1; }), HasSubstr("functions, more than 1"));
  EXPECT_THAT(with([](auto& l) { l.params = 2; }), HasSubstr("parameters, more than 2"));
  EXPECT_THAT(with([](auto& l) { l.rank = 0; }), HasSubstr("more than 0"));
  EXPECT_THAT(with([](auto& l) { l.expr_depth = 3; }), HasSubstr("expressions nest deeper than 3"));
  EXPECT_THAT(with([](auto& l) { l.stmt_depth = 3; }), HasSubstr("statements nest deeper than 3"));
  EXPECT_THAT(with([](auto& l) { l.expanded_nodes = 500; }), HasSubstr("more than 500 nodes"));
}

// Unknown fields would be room for arbitrary bytes, and so for any hash that a sender wants.
TEST(Decode, RefusesFieldsThatNoModuleHas) {
  const auto with_junk = [](auto&& message_of) {
    proto::IrModule m = proto_of(sample_module());
    google::protobuf::Message* inner = message_of(m);
    inner->GetReflection()->MutableUnknownFields(inner)->AddVarint(77, 1);
    return error_of(m);
  };
  const std::vector<std::pair<std::string, std::function<google::protobuf::Message*(proto::IrModule&)>>> levels = {
      {"the message has a field 77, which does not exist", [](auto& m) { return &m; }},
      {"variable 1 has a field 77", [](auto& m) { return m.mutable_vars(1); }},
      {"buffer 0 has a field 77", [](auto& m) { return m.mutable_buffers(0); }},
      {"expression 2 has a field 77", [](auto& m) { return m.mutable_exprs(2); }},
      {"statement 1 has a field 77", [](auto& m) { return m.mutable_stmts(1); }},
      {"function 0 has a field 77", [](auto& m) { return m.mutable_functions(0); }},
      {"prepack 0 has a field 77", [](auto& m) { return m.mutable_prepacks(0); }},
      {"parameter 'A' has a field 77", [](auto& m) { return m.mutable_params(0); }},
      {"the layout of parameter 'A' has a field 77", [](auto& m) { return m.mutable_params(0)->mutable_layout(0); }}};
  for (const auto& [error, level] : levels) EXPECT_THAT(with_junk(level), HasSubstr(error));
}

TEST(Decode, RefusesWhatHasNoDimensions) {
  proto::IrModule m = proto_of(sample_module());
  m.mutable_buffers(0)->clear_shape();
  EXPECT_THAT(error_of(m), HasSubstr("buffer 0 has no dimensions; a single element is a dimension of 1"));
  m = proto_of(sample_module());
  m.mutable_params(2)->clear_shape();
  m.mutable_params(2)->clear_layout();
  EXPECT_THAT(error_of(m), HasSubstr("parameter 'C' has no dimensions"));
}

// i + i, that twice, that twice, …: 60 nodes that a walk would visit 2^60 times.
TEST(Decode, RefusesSharingThatExplodes) {
  proto::IrModule m = proto_of(Module{});
  m.add_vars()->set_dtype(64u << 16 | 1);
  proto::IrExpr* var = m.add_exprs();
  var->set_kind(static_cast<uint32_t>(ExprKind::kVar));
  var->set_dtype(64u << 16 | 1);
  for (uint32_t n = 0; n < 60; ++n) {
    proto::IrExpr* sum = m.add_exprs();
    sum->set_kind(static_cast<uint32_t>(ExprKind::kBinary));
    sum->set_dtype(64u << 16 | 1);
    sum->add_operands(n);
    sum->add_operands(n);
  }
  m.add_buffers()->set_dtype(64u << 16 | 1);
  m.mutable_buffers(0)->add_shape(0);
  proto::IrStmt* store = m.add_stmts();
  store->set_kind(static_cast<uint32_t>(StmtKind::kStore));
  store->add_exprs(60);
  store->add_exprs(0);
  m.add_functions()->set_body(0);
  m.add_kernels(0);
  EXPECT_THAT(error_of(m), HasSubstr("shared ones counted at each use"));
}

TEST(Decode, RefusesADeepChain) {
  Expr e = make_float(1);
  for (int n = 0; n < 1000; ++n) e = Expr(new Call(f32, Intrinsic::kExp, {e}));
  const Buffer c = make_buffer("C", f32, {1});
  Module m;
  m.kernels = {{"k", {c}, {}, make_store(c, {make_int(0)}, e)}};
  EXPECT_THAT(error_of(proto_of(m)), HasSubstr("expressions nest deeper than 512"));
}

TEST(Decode, RefusesBytesThatAreNoMessage) {
  google::protobuf::LogSilencer quiet;
  EXPECT_FALSE(decode("nonsense").ok());
  EXPECT_FALSE(decode("").ok());
  EXPECT_FALSE(decode(std::string(1000, '\xff')).ok());
}

// Changed, cut and spliced encodings: an error or a Module that can be printed, hashed and encoded, never a crash or an
// exception.
TEST(Decode, SurvivesRandomBytes) {
  google::protobuf::LogSilencer quiet;
  std::mt19937 random(1);
  const auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  const std::vector<std::string> seeds = {encode(sample_module()), encode(vector_module()), encode(prefetch_module()),
                                          encode(dot_module())};
  int accepted = 0;
  for (int round = 0; round < 40000; ++round) {
    std::string bytes = seeds[below(seeds.size())];
    switch (below(6)) {
      case 0: bytes.resize(below(bytes.size())); break;
      case 1: bytes.insert(below(bytes.size()), seeds[below(2)].substr(below(300), below(40))); break;
      case 2: bytes.erase(below(bytes.size()), 1 + below(8)); break;
      default: break;
    }
    for (size_t n = 1 + below(3); n > 0 && !bytes.empty(); --n)
      bytes[below(bytes.size())] = static_cast<char>(below(4) ? below(16) : below(256));
    StatusOr<Module> m = absl::InternalError("not decoded");
    ASSERT_NO_THROW(m = decode(bytes));
    if (!m.ok()) {
      EXPECT_EQ(m.status().code(), absl::StatusCode::kInvalidArgument);
      continue;
    }
    ++accepted;
    const std::string again = encode(*m);
    const auto second = decode(again);
    ASSERT_TRUE(second.ok()) << message_of(second.status());
    EXPECT_EQ(content_hash(*second), content_hash(*m));
    EXPECT_EQ(to_string(*second), to_string(*m));
  }
  EXPECT_GT(accepted, 500) << "the mutations are too wild to test anything behind the first check";
}

// The same on the message's fields, which keeps the bytes well-formed and reaches the checks behind the parser.
TEST(Decode, SurvivesRandomFields) {
  std::mt19937 random(2);
  const auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  const std::vector<proto::IrModule> seeds = {proto_of(sample_module()), proto_of(vector_module()),
                                              proto_of(prefetch_module()), proto_of(dot_module())};
  const auto wild = [&]() -> uint32_t {
    return below(3) ? static_cast<uint32_t>(below(20)) : static_cast<uint32_t>(random());
  };
  int accepted = 0, legal = 0;
  for (int round = 0; round < 20000; ++round) {
    proto::IrModule m = seeds[static_cast<size_t>(below(static_cast<int>(seeds.size())))];
    for (int n = 1 + below(2); n > 0; --n) {
      proto::IrExpr* e = m.mutable_exprs(below(m.exprs_size()));
      proto::IrStmt* s = m.mutable_stmts(below(m.stmts_size()));
      switch (below(10)) {
        case 0: e->set_kind(wild()); break;
        case 1: e->set_ref(wild()); break;
        case 2: e->set_op(wild()); break;
        case 3: e->set_int_value(static_cast<int64_t>(random()) << below(33)); break;
        case 4:
          if (e->operands_size()) e->set_operands(below(e->operands_size()), wild());
          break;
        case 5: e->add_operands(wild()); break;
        case 6: s->set_ref(wild()); break;
        case 7:
          if (s->exprs_size()) s->set_exprs(below(s->exprs_size()), wild());
          break;
        case 8:
          if (s->stmts_size()) s->set_stmts(below(s->stmts_size()), wild());
          break;
        case 9: s->set_kind(wild()); break;
      }
    }
    StatusOr<Module> back = absl::InternalError("not decoded");
    ASSERT_NO_THROW(back = decode(m.SerializeAsString()));
    if (!back.ok()) continue;
    ++accepted;
    EXPECT_FALSE(to_string(*back).empty());
    legal += is_legal(*back);
    const auto second = decode(encode(*back));
    ASSERT_TRUE(second.ok());
    EXPECT_EQ(content_hash(*second), content_hash(*back));
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(legal, 200);
  EXPECT_LT(legal, accepted);
}

}  // namespace
}  // namespace hone
