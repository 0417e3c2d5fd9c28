// The context of a converter: one operator of a model, and the lowering that knows the file and where its images lie.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/frontend/lowering/lowering.h"
#include "compiler/frontend/tflite/file/model_file.h"
#include "compiler/frontend/tflite/node/states.h"

namespace hone::tflite {

using namespace frontend;  // converters are written in its words

/// Begins the keys under which Lowering::once() keeps values: many operators may read one large constant.
enum OnceOfTflite : int64_t { kTurned = 1 << 20, kRealNumbers, kStored };

/// A lowering whose images, [n, h, w, c] in a file, are computed as planes, [n, c, h, w], which convolutions read and
/// write here. The operand that a model sees is their transposition, which nothing reads where all operators in between
/// know the planes.
class ImageLowering : public Lowering {
 public:
  using Lowering::Lowering;

  /// An image as planes: those that pixels() was given, or transposed. UserError unless its rank is 4.
  Operand planes(const Operand& x);
  /// Null unless the operand is what pixels() gave.
  const Operand* known_planes(const Operand& x) const;
  /// Planes as the image that the model sees.
  Operand pixels(const Operand& planes);
  /// transpose(), at once where the operand is known: its elements are moved by a loop, not by an interpreter.
  Operand turned(const Operand& x, const Extents& perm);

  /// As pointwise(), on planes where an operand's are known.
  Operand map(const std::string& text, const std::vector<Operand>& operands);
  /// As slice() and concat(), on planes where those of the operands are known.
  Operand cut(const Operand& x, const Extents& begin, const Extents& step, const Extents& size);
  Operand join(const std::vector<Operand>& parts, int64_t axis);

 private:
  std::unordered_map<ValueId, Operand> planes_;  ///< by what pixels() gave
};

/// Numbers for each axis of an image, as planes have them.
Extents of_planes(const Extents& of_image);

/// One operator of the model while it is read.
struct NodeContext {
  const file::Operator& node;
  int32_t number;      ///< of the operator
  std::string custom;  ///< its name, where the file names it
  std::vector<std::optional<Operand>> inputs;
  std::vector<const TensorInfo*> read, computed;  ///< the file's words on inputs (null: left out) and outputs
  std::vector<Operand> outputs;                   ///< to be filled in
  ImageLowering& l;
  States& states;

  bool has(size_t i) const { return i < inputs.size() && inputs[i].has_value(); }
  /// UserError where it is left out.
  const Operand& in(size_t i) const;
  /// None where it is left out.
  std::optional<Operand> given(size_t i) const { return has(i) ? inputs[i] : std::nullopt; }
  /// Input `i`, which must be known while the model is read.
  TensorData constant(size_t i, std::string_view what) const;
  /// The same of whole numbers, at most `most` of them, and of a single one.
  std::vector<int64_t> constant_numbers(size_t i, std::string_view what, size_t most = 2 * kMostAxes) const;
  int64_t constant_number(size_t i, std::string_view what) const;
  /// The type of output `o` as the file has it.
  DType type_of_output(size_t o) const;
  /// UserError unless there are so many outputs.
  void require_outputs(size_t n) const;

  /// The operator's options; null where the file has none, which says that all are the defaults. UserError where they
  /// are those of another operator.
  template <class Options>
  const Options* options() const {
    if (node.options_type() == file::Options::NONE || !node.options()) return nullptr;
    const auto* found = node.options_as<Options>();
    HONE_USER_CHECK(found) << "its options are of kind " << static_cast<int>(node.options_type())
                           << ", which are another operator's";
    return found;
  }
  /// One of them.
  template <class Options, class T>
  T option(T (Options::*field)() const, T fallback = {}) const {
    const Options* found = options<Options>();
    return found ? (found->*field)() : fallback;
  }
};

/// A function that TensorFlow Lite fuses to an operator, by its number, of the operator's result (or its planes).
Operand activated(Lowering& l, const Operand& x, int8_t function);
/// The same of an image whose planes may be known.
Operand activated_image(ImageLowering& l, const Operand& x, int8_t function);

/// Powers of whole numbers (operators/integer.cc). UserError for exponents that are known and negative.
Operand power_of_integers(Lowering& l, const Operand& base, const Operand& exponent);

/// How whole numbers with scales are treated in front of an operator, and behind it.
enum class Numbers : uint8_t {
  kReal,   ///< they become floats, and its outputs whole numbers again where the file says so
  kMoved,  ///< the same, unless inputs and outputs have the same scales: then they are moved as they are
  kAsIs,   ///< the converter knows what they are
};
struct Converter {
  void (*run)(NodeContext& c) = nullptr;
  Numbers numbers = Numbers::kReal;
  bool takes_states = false;   ///< variables among its inputs, which are left out then
  bool takes_complex = false;  ///< complex numbers among inputs and outputs
  bool takes_lengths = false;  ///< inputs that are as long as a call finds out (frontend/lowering/ragged.h)
};
/// Rows by the operator's number, and by name where files name it.
struct ConverterTable {
  std::unordered_map<int32_t, Converter> own;
  std::unordered_map<std::string, Converter> custom;
};
/// All converters.
const ConverterTable& converters();
void add_window_operators(ConverterTable& t);
void add_pointwise_operators(ConverterTable& t);
void add_movement_operators(ConverterTable& t);
void add_slice_operators(ConverterTable& t);
void add_image_operators(ConverterTable& t);
void add_product_operators(ConverterTable& t);
void add_reduction_operators(ConverterTable& t);
void add_constant_operators(ConverterTable& t);
void add_quantized_operators(ConverterTable& t);
void add_integer_operators(ConverterTable& t);
void add_scatter_operators(ConverterTable& t);
void add_segment_operators(ConverterTable& t);
void add_position_operators(ConverterTable& t);
void add_volume_operators(ConverterTable& t);
void add_pool_position_operators(ConverterTable& t);
void add_detection_operators(ConverterTable& t);
void add_recurrent_operators(ConverterTable& t);
void add_fourier_operators(ConverterTable& t);
void add_rnn_operators(ConverterTable& t);
void add_length_operators(ConverterTable& t);

}  // namespace hone::tflite
