// Models of TensorFlow Lite, of one operator most of them, with inputs: what they give is compared with what
// TensorFlow Lite's own library gives for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/fakes/tflite_model.h"

namespace hone {

/// How far an answer may be from TensorFlow Lite's.
struct AnswerBound {
  int steps = 0;        ///< of whole numbers
  double ulps = 4;      ///< of floats: units of 2^-23 of each element,
  double terms = 0;     ///< and of the largest element of its tensor: how many numbers are added up
  double absolute = 0;  ///< and beside these
  double share = 0.2;   ///< of a tensor's bytes, and two more, may be steps apart: few are rounded otherwise
};

struct TfliteCase {
  std::string name;                             ///< unique; begins with the operator's name
  std::string model;                            ///< the file's bytes
  std::vector<std::vector<std::string>> calls;  ///< the bytes of each input, for each call; states live on between them
  AnswerBound bound;
};

/// Where numbers are drawn from: of floats between -2 and 2, of other types all that there are (of 32 and 64 bits those
/// up to 100). `step`: multiples of it.
struct DrawnFrom {
  double least = 0, most = 0, step = 0;
};

/// A model in the making whose tensors have numbers drawn by the case's name: other cases change nothing of them.
class CaseModel : public TfliteModel {
 public:
  using Shape = std::vector<int32_t>;

  explicit CaseModel(std::string name, int calls = 1);
  /// An input, whose numbers every call has others of; and a tensor of the file.
  CaseModel& given(const std::string& name, const Shape& shape, int8_t type = kTfFloat, const TfliteScales& scales = {},
                   DrawnFrom from = {});
  CaseModel& stored(const std::string& name, const Shape& shape, int8_t type = kTfFloat,
                    const TfliteScales& scales = {}, DrawnFrom from = {});
  /// An input with these bytes in every call.
  CaseModel& given_bytes(const std::string& name, const Shape& shape, int8_t type, const std::string& bytes,
                         const TfliteScales& scales = {});
  /// Outputs of the model; an operator computes them.
  CaseModel& result(const std::string& name, int8_t type = kTfFloat, const TfliteScales& scales = {},
                    const Shape& shape = {});

  // Those of every model, as parts of a chain of these.
  CaseModel& tensor(const std::string& name, const Shape& shape, int8_t type = kTfFloat,
                    const TfliteScales& scales = {}, uint32_t buffer = 0, const Shape& signature = {},
                    flatbuffers::Offset<tables::Sparsity> sparsity = 0, bool is_variable = false) {
    TfliteModel::tensor(name, shape, type, scales, buffer, signature, sparsity, is_variable);
    return *this;
  }
  CaseModel& data(const std::string& name, const Shape& shape, int8_t type, const std::string& bytes,
                  const TfliteScales& scales = {}, flatbuffers::Offset<tables::Sparsity> sparsity = 0) {
    TfliteModel::data(name, shape, type, bytes, scales, sparsity);
    return *this;
  }
  CaseModel& floats(const std::string& name, const Shape& shape, const std::vector<float>& values) {
    TfliteModel::floats(name, shape, values);
    return *this;
  }
  CaseModel& numbers(const std::string& name, const std::vector<int32_t>& values) {
    TfliteModel::numbers(name, values);
    return *this;
  }
  CaseModel& number(const std::string& name, int32_t value) {
    TfliteModel::number(name, value);
    return *this;
  }

  std::string drawn(int8_t type, const Shape& shape, DrawnFrom from);
  TfliteCase done(const AnswerBound& bound = {});

 private:
  uint64_t next();

  TfliteCase case_;
  uint64_t state_;
};

using TfliteCases = std::vector<TfliteCase>;
/// The cases of each family, behind those that are there.
void add_element_cases(TfliteCases* cases);
void add_narrow_element_cases(TfliteCases* cases);
void add_window_cases(TfliteCases* cases);
void add_narrow_window_cases(TfliteCases* cases);
void add_product_cases(TfliteCases* cases);
void add_movement_cases(TfliteCases* cases);
void add_slice_cases(TfliteCases* cases);
void add_image_cases(TfliteCases* cases);
void add_row_cases(TfliteCases* cases);
void add_writing_cases(TfliteCases* cases);
void add_number_cases(TfliteCases* cases);
void add_layer_cases(TfliteCases* cases);
void add_graph_cases(TfliteCases* cases);
/// All of them. Names differ.
TfliteCases all_tflite_cases();

/// `f32`, as names of cases have types.
std::string type_name(int8_t type);
/// One scale of the whole tensor.
inline TfliteScales scaled(float scale, int64_t zero = 0) { return {{scale}, {zero}}; }
/// As many, around `scale`, along an axis.
TfliteScales scaled_by_channel(float scale, int count, int axis);

}  // namespace hone
