// Inputs as cameras and microphones give them: bytes, channels last, neither centred nor scaled.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/frontend/lowering/model_metadata.h"
#include "compiler/graph/graph.h"

namespace hone {

/// Where an image's channels are; kModels: where the model has them.
enum class ImageLayout { kModels, kChannelsFirst, kChannelsLast };

/// The form in which the caller passes an input of the model. The model's input is then (x - mean) * scale, with
/// channels in the model's order and layout.
struct InputFormat {
  std::string text;  ///< as it was given
  std::string input;
  std::optional<DType> dtype;                 ///< none: the model's
  ImageLayout layout = ImageLayout::kModels;  ///< NCHW, NHWC
  bool reverses_channels = false;             ///< BGR for a model of RGB, or the other way around
  std::vector<double> mean, scale;            ///< of all channels, or one for each in the model's order; empty: 0 and 1
  bool is_normalized = false;                 ///< the model's file says mean and scale: normalized_by()
};

/// `NAME=u8:NHWC,mean=123.7:116.3:103.5,scale=0.017` as --input has it: the type, the layout, `bgr`, and numbers; `std`
/// is the inverse of `scale`; `normalized` takes those that the model's file has. UserError, one line, for other texts.
InputFormat input_format(const std::string& text);
/// The same for an input's name and the text behind the `=`.
InputFormat input_format(const std::string& input, const std::string& format);

/// The formats with the numbers of the model's file in those that ask for them. UserError, one line, where it has none.
std::vector<InputFormat> normalized_by(std::vector<InputFormat> formats, const ModelMetadata& metadata);
/// The notes for inputs in these formats: a format that centres and scales by itself leaves nothing to normalize, and
/// the values do not have their range then.
ModelMetadata with_input_formats(ModelMetadata metadata, const std::vector<InputFormat>& formats);

/// The graph, as it was imported, with these inputs; none of the formats asks for the file's numbers any more. The
/// model's channels are those of the first convolution that the input reaches (channel_axis()), else the second axis,
/// as ONNX has them. UserError for an input that does not exist, is given twice, is not of floats, or has other axes or
/// another number of channels.
Graph with_input_formats(Graph g, const std::vector<InputFormat>& formats, const OperatorTable& operators);

}  // namespace hone
