// Attention over caches that grow in place.
#include <gmock/gmock.h>

#include "compiler/graph/element_text.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/growth.h"
#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

using testing::HasSubstr;

const std::string kCaches = R"(graph g
input "q" %q f32[6, 2, 4]
input "past_k" %past_k f32[2, 3, 6, 4]
input "past_v" %past_v f32[2, 3, 6, 5]
input "k" %k f32[2, 3, 1, 4]
input "v" %v f32[2, 3, 1, 5]
input "past" %past s64[1]
%present_k = concat(shapes=2x3x6x4:2x3x1x4,axis=2) %past_k %k
%present_v = concat(shapes=2x3x6x5:2x3x1x5,axis=2) %past_v %v
)";
const std::string kKeysAsColumns = R"(%t = transpose(shape=2x3x7x4,perm=0:1:3:2) %present_k
%columns = reshape(shape=2x3x4x7,to=6x4x7) %t
)";
const std::string kAttention = R"(%rows = reshape(shape=2x3x7x5,to=6x7x5) %present_v
%y = attention(b=6,m=2,n=7,k=4,v=5,scores=mul[0.5]) %q %columns %rows
)";
const std::string kOutputs = R"(output "y" %y f32[6, 2, 5]
output "present_k" %present_k f32[2, 3, 7, 4]
output "present_v" %present_v f32[2, 3, 7, 5]
)";
const Growth kGrowth{"past", 6, {{1, 1, 2}, {2, 2, 2}}};

Graph used(const std::string& text) {
  PassContext context = test_context();
  context.growth = &kGrowth;
  return use_caches(read_graph(text), context);
}

TEST(UseCaches, ReadsKeysAsTheRowsThatTheyAre) {
  EXPECT_THAT(
      lines_of(used(kCaches + kKeysAsColumns + kAttention + kOutputs)),
      HasSubstr("%reshape = reshape(shape=2x3x7x4,to=6x7x4,dtype=f32) %present_k\n"
                "%reshape_1 = reshape(shape=2x3x7x5,to=6x7x5,dtype=f32) %present_v\n"
                "%y = cached_attention(b=6,m=2,n=7,k=4,v=5,dtype=f32,scores=mul[0.5],epilogue=none) %q %reshape "
                "%past %reshape_1\n"));
}

TEST(UseCaches, ComputesTheSameWhereAllRowsAreThere) {
  const Graph before = read_graph(kCaches + kKeysAsColumns + kAttention + kOutputs);
  const Graph after = used(kCaches + kKeysAsColumns + kAttention + kOutputs);
  std::vector<TensorData> inputs;
  for (size_t i = 0; i + 1 < before.inputs.size(); ++i) {
    const TensorType& t = before.inputs[i].type;
    inputs.emplace_back(t, filled_elements(t.dtype, element_count(t.shape), inputs.size() + 1));
  }
  inputs.push_back(TensorData::of_numbers({kGrowth.most}));
  const auto wanted = interpret(before, inputs, &evaluate), got = interpret(after, inputs, &evaluate);
  EXPECT_THAT(got[0].values(), testing::Pointwise(testing::DoubleNear(1e-5), wanted[0].values()));
}

TEST(UseCaches, LeavesWhatIsNoCacheOfRows) {
  // Keys that are columns already, and other axes exchanged.
  for (const std::string columns :
       {"%columns = reshape(shape=2x3x7x4,to=6x4x7) %present_k\n",
        "%t = transpose(shape=2x3x7x4,perm=1:0:3:2) %present_k\n%columns = reshape(shape=3x2x4x7,to=6x4x7) %t\n"})
    EXPECT_THAT(lines_of(used(kCaches + columns + kAttention + kOutputs)), testing::Not(HasSubstr("cached_attention")));
}

}  // namespace
}  // namespace hone
