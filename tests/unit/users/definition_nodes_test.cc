// Definitions that are products and convolutions, as Hone's own.
#include <gmock/gmock.h>

#include "compiler/frontend/lowering/operators/stage_shape.h"
#include "compiler/ops/user_operator.h"
#include "tests/unit/graph/after_pass.h"
#include "tests/unit/users/definitions.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The operators that a definition becomes, of an input `x` and, behind it, constants; behind the passes that fold
// borders. They give what the definition by itself gives.
std::vector<std::string> operators_of(const Definition& d, bool is_known = true) {
  const ModelFolder f;
  TestModel m;
  std::vector<std::string> names;
  std::vector<TensorData> data;
  for (size_t i = 0; i < d.inputs.size(); ++i) {
    const Tensor& t = d.inputs[i].first;
    names.push_back("x" + std::to_string(i));
    data.emplace_back(TensorType{f32, t->shape}, input_elements({f32, t->shape}, i));
    std::vector<float> values;
    for (const double v : data.back().values()) values.push_back(static_cast<float>(v));
    if (i == 0 || !is_known)
      m.input(names.back(), {t->shape.begin(), t->shape.end()});
    else
      m.floats(names.back(), t->shape, values);
  }
  own_node(m, "F", names, {"y"});
  m.output("y");
  ImportOptions options;
  options.users = std::make_shared<UserOperators>();
  options.users->answer_by([&](const std::string& q) {
    return q.find("operators") != std::string::npos ? std::string(R"(["my::F"])")
                                                    : Json{{"definition", definition_to_text(d)}}.dump();
  });
  const ImportedModel made = f.import(m, options);
  const auto wanted = evaluate(user_workload("f", d, {}, nullptr), data);
  const auto got = interpret(made.graph, is_known ? std::vector{data[0]} : data, &evaluate);
  EXPECT_EQ(got[0].type(), wanted[0].type());
  EXPECT_THAT(got[0].values(), testing::Pointwise(testing::DoubleNear(1e-4), wanted[0].values()));
  std::vector<std::string> out;
  for (const Node& n : remove_dead(made.graph).nodes) {
    std::string text = n.workload.operator_name();
    for (const char* a : {"stride", "pad", "dilation", "groups"})
      if (n.workload.attributes.has(a)) text += std::string(",") + n.workload.attributes.text(a);
    if (text != "reshape" && text != "transpose") out.push_back(text);
  }
  return out;
}

Tensor input(const char* name, const std::vector<int64_t>& shape) { return placeholder(name, shape, f32); }
Definition definition_of(const std::vector<Tensor>& inputs, const Tensor& output) {
  Definition d{{}, {output}};
  for (const Tensor& t : inputs) d.inputs.emplace_back(t, ParamRole::kInput);
  return d;
}

TEST(DefinitionNodes, AreProductsInAnyOrderOfAxes) {
  const Tensor x = input("x", {3, 4, 5}), w = input("w", {6, 5});
  const Axis k = reduce_axis("k", 5);
  const Tensor y = compute_reduce("y", {4, 6, 3}, letters(3), {x, w},
                                  [&](const Indices& i) { return sum(w(i[1], k) * x(i[2], i[0], k), {k}); });
  EXPECT_THAT(operators_of(definition_of({x, w}, y)), ElementsAre("dense"));
  EXPECT_THAT(operators_of(definition_of({x, w}, y), false), ElementsAre("batch_matmul"));

  const Tensor q = input("q", {2, 7, 5}), keys = input("keys", {2, 9, 5});
  const Tensor scores = compute_reduce("scores", {2, 7, 9}, letters(3), {q, keys}, [&](const Indices& i) {
    return sum(q(i[0], i[1], k) * keys(i[0], i[2], k), {k});
  });
  const Tensor scaled = compute("scaled", {2, 7, 9}, letters(3), {scores},
                                [&](const Indices& i) { return scores.at(i) * make_float(0.5); });
  EXPECT_THAT(operators_of(definition_of({q, keys}, scaled), false), ElementsAre("batch_matmul", "elementwise"));
}

// y[o, i] = sum of x[c, i * stride + t * dilation + begin - border] w[o, c, t]
Definition convolution(int64_t extent, int64_t taps, int64_t stride, int64_t dilation, int64_t begin, int64_t border,
                       int64_t positions) {
  const Tensor x = input("x", {3, extent}), w = input("w", {4, 3, taps});
  const Tensor p = compute("p", {3, extent + 2 * border}, letters(2), {x}, [&](const Indices& i) {
    const Expr inside = logical_and(le(make_int(border), i[1]), lt(i[1], make_int(extent + border)));
    return select(inside, x(i[0], i[1] - border), make_float(0));
  });
  const Axis c = reduce_axis("c", 3), t = reduce_axis("t", taps);
  const Tensor& from = border > 0 ? p : x;
  const Tensor y = compute_reduce("y", {4, positions}, letters(2), {from, w}, [&](const Indices& i) {
    return sum(from(c, i[1] * stride + Expr(t) * dilation + begin) * w(i[0], c, t), {c, t});
  });
  return definition_of({x, w}, y);
}

TEST(DefinitionNodes, AreConvolutionsWithBordersOfTheirOwn) {
  EXPECT_THAT(operators_of(convolution(12, 3, 1, 1, 0, 0, 10)), ElementsAre("conv2d,1,0,1,1"));
  EXPECT_THAT(operators_of(convolution(12, 3, 1, 2, 0, 2, 12)), ElementsAre("conv2d,1,0x2,1x2,1"));
  EXPECT_THAT(operators_of(convolution(12, 3, 2, 1, 0, 1, 6)), ElementsAre("conv2d,1x2,0:1:0:0,1,1"));
  EXPECT_THAT(operators_of(convolution(12, 3, 1, 1, 1, 0, 4)), ElementsAre("slice", "conv2d,1,0,1,1"));
  EXPECT_THAT(operators_of(convolution(12, 3, 1, 1, 1, 3, 12)), ElementsAre("conv2d,1,0:2:0:0,1,1"));
  EXPECT_THAT(operators_of(convolution(12, 3, 1, 2, 0, 2, 12), false), ElementsAre("op")) << "weights of a call";
}

TEST(DefinitionNodes, AreProductsOfNarrowNumbersInAWiderType) {
  const Tensor x = input("x", {6, 5}), w = input("w", {7, 5});
  const auto narrow = [&](const char* name, const Tensor& t) {
    return compute(name, t->shape, letters(2), {t}, [&](const Indices& i) { return cast(f16, t.at(i)); });
  };
  const Tensor a = narrow("a", x), b = narrow("b", w);
  const Axis k = reduce_axis("k", 5);
  const Tensor y = compute_reduce("y", {6, 7}, letters(2), {a, b}, [&](const Indices& i) {
    return sum(cast(f32, a(i[0], k)) * cast(f32, b(i[1], k)), {k});
  });
  EXPECT_THAT(operators_of(definition_of({x, w}, y), false).back(), "batch_matmul");
  const Tensor z = compute_reduce("z", {6, 7}, letters(2), {a, b},
                                  [&](const Indices& i) { return sum(a(i[0], k) * b(i[1], k), {k}); });
  EXPECT_THAT(z->buffer->dtype, f16) << "sums in f16 stay what they are";
  EXPECT_FALSE(frontend::product_stage(*z.node()));
}

TEST(DefinitionNodes, AreConvolutionsThatReadInsideOfTheImage) {
  const Tensor x = input("x", {3, 12}), w = input("w", {4, 3, 3});
  const Axis c = reduce_axis("c", 3), t = reduce_axis("t", 3);
  const auto of = [&](int64_t least, int64_t end, bool is_around_both, int64_t positions, int64_t stride) {
    return operators_of(definition_of(
        {x, w}, compute_reduce("y", {4, positions}, letters(2), {x, w}, [&](const Indices& i) {
          const Expr at = i[1] * stride + Expr(t) * 2 - 2;
          const Expr inside = logical_and(le(make_int(least), at), lt(at, make_int(end)));
          const Expr safe = min(max(at, make_int(0)), make_int(11));
          const Expr weight = w(i[0], c, t), zero = make_float(0);
          const bool is_exact = least == 0 && end == 12;
          const Expr value = is_exact ? x(c, at) : x(c, safe);
          return sum(is_around_both ? select(inside, value * weight, zero) : weight * select(inside, value, zero),
                     {c, t});
        })));
  };
  EXPECT_THAT(of(0, 12, true, 12, 1), ElementsAre("conv2d,1,0x2,1x2,1"));
  EXPECT_THAT(of(0, 12, false, 12, 1), ElementsAre("conv2d,1,0x2,1x2,1"));
  EXPECT_THAT(of(0, 12, false, 6, 2), ElementsAre("conv2d,1x2,0:2:0:1,1x2,1"));
  EXPECT_THAT(of(0, 12, false, 9, 1), ElementsAre("slice", "conv2d,1,0:2:0:0,1x2,1"));
  EXPECT_THAT(of(1, 12, false, 12, 1), ElementsAre("op")) << "one of its elements counts as 0";
  EXPECT_THAT(of(0, 11, true, 12, 1), ElementsAre("op"));
}

TEST(DefinitionNodes, AreConvolutionsOfEachChannel) {
  const Tensor x = input("x", {1, 8, 9, 6}), w = input("w", {6, 3, 3});
  const Axis a = reduce_axis("a", 3), b = reduce_axis("b", 3);
  const Tensor y = compute_reduce("y", {1, 6, 7, 6}, letters(4), {x, w}, [&](const Indices& i) {
    return sum(x(i[0], i[1] + a, i[2] + b, i[3]) * w(i[3], a, b), {a, b});
  });
  EXPECT_THAT(operators_of(definition_of({x, w}, y))[0], HasSubstr("depthwise_conv2d"));
}

TEST(DefinitionNodes, AreGatesOfTwoConvolutions) {
  const Tensor x = input("x", {1, 4, 10}), f = input("f", {4, 4, 3}), g = input("g", {4, 4, 3});
  const auto filtered = [&](const char* name, const Tensor& w) {
    const Axis c = reduce_axis("c", 4), t = reduce_axis("t", 3);
    return compute_reduce(name, {1, 4, 6}, letters(3), {x, w}, [&](const Indices& i) {
      return sum(x(i[0], c, i[2] + Expr(t) * 2) * w(i[1], c, t), {c, t});
    });
  };
  const Tensor a = filtered("a", f), b = filtered("b", g);
  const Tensor y = compute("y", {1, 4, 6}, letters(3), {a, b}, [&](const Indices& i) {
    return call(Intrinsic::kTanh, {a.at(i)}) * test_functions().find("sigmoid")->apply(Indices{b.at(i)}, f32);
  });
  EXPECT_THAT(operators_of(definition_of({x, f, g}, y)),
              ElementsAre("conv2d,1,0,1x2,1", "conv2d,1,0,1x2,1", "elementwise", "elementwise", "elementwise"));
}

TEST(DefinitionParts, AreProductsAndKernelsBetweenThem) {
  // softmax(q k / 8) v, of rows that are worth products.
  constexpr int64_t kRows = 48, kDepth = 32;
  const Tensor q = input("q", {kRows, kDepth}), keys = input("keys", {kRows, kDepth}), v = input("v", {kRows, kDepth});
  const Axis d = reduce_axis("d", kDepth), a = reduce_axis("a", kRows), b = reduce_axis("b", kRows),
             c = reduce_axis("c", kRows);
  const Tensor scores = compute_reduce("scores", {kRows, kRows}, letters(2), {q, keys},
                                       [&](const Indices& i) { return sum(q(i[0], d) * keys(i[1], d), {d}); });
  const Tensor most = compute_reduce("most", {kRows}, letters(1), {scores},
                                     [&](const Indices& i) { return max_over(scores(i[0], a), {a}); });
  const Tensor e = compute("e", {kRows, kRows}, letters(2), {scores, most}, [&](const Indices& i) {
    return call(Intrinsic::kExp, {(scores(i[0], i[1]) - most(i[0])) * make_float(0.125)});
  });
  const Tensor total =
      compute_reduce("total", {kRows}, letters(1), {e}, [&](const Indices& i) { return sum(e(i[0], b), {b}); });
  const Tensor share =
      compute("share", {kRows, kRows}, letters(2), {e, total}, [&](const Indices& i) { return e.at(i) / total(i[0]); });
  const Tensor y = compute_reduce("y", {kRows, kDepth}, letters(2), {share, v},
                                  [&](const Indices& i) { return sum(share(i[0], c) * v(c, i[1]), {c}); });
  EXPECT_THAT(operators_of(definition_of({q, keys, v}, y), false), ElementsAre("batch_matmul", "op", "batch_matmul"));
  const Tensor z = compute("z", {kRows, kDepth}, letters(2), {y, q},
                           [&](const Indices& i) { return max(y.at(i), make_float(0)) + q.at(i); });
  EXPECT_THAT(operators_of(definition_of({q, keys, v}, z), false),
              ElementsAre("batch_matmul", "op", "batch_matmul", "elementwise", "elementwise"));
}

TEST(DefinitionParts, AreNoneOfSmallProducts) {
  const Tensor x = input("x", {4, 6}), w = input("w", {6, 6});
  const Axis k = reduce_axis("k", 6), j = reduce_axis("j", 6);
  const Tensor p = compute_reduce("p", {4, 6}, letters(2), {x, w},
                                  [&](const Indices& i) { return sum(x(i[0], k) * w(i[1], k), {k}); });
  const Tensor y = compute_reduce("y", {4}, letters(1), {p}, [&](const Indices& i) { return sum(p(i[0], j), {j}); });
  EXPECT_THAT(operators_of(definition_of({x, w}, y)), ElementsAre("op"));
}

TEST(DefinitionNodes, AreNoneOfOtherSums) {
  const Tensor x = input("x", {4, 6}), w = input("w", {6, 6});
  const Axis k = reduce_axis("k", 6), two = reduce_axis("two", 2);
  const auto of = [&](const std::vector<int64_t>& shape, const std::function<Reduction(const Indices&)>& body) {
    return operators_of(definition_of({x, w}, compute_reduce("y", shape, letters(shape.size()), {x, w}, body)));
  };
  EXPECT_THAT(of({4, 6}, [&](const Indices& i) { return sum(x(i[0], k) * w(k, k), {k}); }), ElementsAre("op"));
  EXPECT_THAT(of({4, 6}, [&](const Indices& i) { return sum(x(i[0], k) * w(i[1], make_int(5) - k), {k}); }),
              ElementsAre("op"));
  EXPECT_THAT(of({4, 6}, [&](const Indices& i) { return max_over(x(i[0], k) * w(i[1], k), {k}); }), ElementsAre("op"));
  EXPECT_THAT(of({4, 6}, [&](const Indices& i) { return sum(x(i[0], two) * w(i[1], two), {two}); }), ElementsAre("op"));
  EXPECT_THAT(of({4, 6}, [&](const Indices& i) { return sum(x(i[0], k) * w(i[1], k) + x(i[0], i[1]), {k}); }),
              ElementsAre("op"));
}

TEST(DefinitionNodes, AreNoneOfABorderThatIsNotWhereTheTensorEnds) {
  const Tensor x = input("x", {3, 12}), w = input("w", {4, 3, 3});
  const auto of = [&](int64_t from, int64_t to, float value) {
    const Tensor p = compute("p", {3, 14}, letters(2), {x}, [&](const Indices& i) {
      const Expr inside = logical_and(le(make_int(from), i[1]), lt(i[1], make_int(to)));
      return select(inside, x(i[0], min(max(i[1] - 1, make_int(0)), make_int(11))), make_float(value));
    });
    const Axis c = reduce_axis("c", 3), t = reduce_axis("t", 3);
    return operators_of(definition_of({x, w}, compute_reduce("y", {4, 12}, letters(2), {p, w}, [&](const Indices& i) {
                                        return sum(p(c, i[1] + t) * w(i[0], c, t), {c, t});
                                      })));
  };
  EXPECT_THAT(of(2, 13, 0), ElementsAre("op"));
  EXPECT_THAT(of(1, 13, 1), ElementsAre("op"));
}

}  // namespace
}  // namespace hone
