// Tests files of TensorFlow's tf.summary and of tensorboardX (testing/write_kinds.py) value by
// value.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "eventlog/event.h"
#include "eventlog/graph_nodes.h"
#include "eventlog/hparams_content.h"
#include "eventlog/number_type.h"
#include "eventlog/record.h"
#include "eventlog/tag_metadata.h"
#include "eventlog/tensor_view.h"
#include "eventlog/value_decoder.h"

namespace eventlog {
namespace {

std::string Contents(const std::string& name) {
  std::ifstream file("eventlog/testing/golden/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Joined(const std::vector<double>& numbers) {
  std::ostringstream out;
  for (const double number : numbers) out << (out.tellp() > 0 ? "," : "") << number;
  return out.str();
}

std::string BlobsText(const std::vector<BlobView>& blobs) {
  std::ostringstream out;
  for (const BlobView& blob : blobs) {
    out << "[" << blob.content_type << " " << blob.width << "x" << blob.height << "x"
        << blob.channels << " " << blob.sample_rate << "Hz " << blob.bytes.size() << "B]";
  }
  return out.str();
}

std::string TensorText(const TensorView& tensor) {
  std::ostringstream out;
  out << NameOf(tensor.type()) << "[";
  for (const std::int64_t size : tensor.shape()) out << size << ";";
  out << "] ";
  std::vector<double> numbers;
  tensor.AppendNumbers(0, 100, &numbers);
  std::vector<std::string_view> strings;
  tensor.AppendStrings(0, 100, &strings);
  for (const std::string_view text : strings) out << "'" << text << "' ";
  return out.str() + Joined(numbers);
}

std::string MeshText(const MeshContent& mesh) {
  return std::string(mesh.name) + "/" + std::to_string(static_cast<int>(mesh.type));
}

std::string HParamsText(const HParamsContent& content) {
  std::string text = content.experiment;
  for (const auto& [name, value] : content.hparams) text += name + "=" + value + " ";
  text += std::string(content.group_name);
  if (content.kind == HParamsContent::Kind::kSessionEnd) {
    text += "ended " + std::to_string(static_cast<int>(content.status));
  }
  return text;
}

// Returns the text into which a program that displays the value would decode it.
std::string ValueText(const SummaryValue& value, const TagKind& kind) {
  if (UseOf(value, kind) == ValueUse::kScalar) return Joined({*value.scalar});
  if (kind.plugin == "histograms") {
    const auto histogram = ReadHistogram(value.kind, value.bytes);
    if (!histogram.ok()) return histogram.status().ToString();
    return Joined(histogram->lefts) + " to " + Joined(histogram->rights) + " are " +
           Joined(histogram->counts);
  }
  if (kind.data_class == DataClass::kBlobSequence) {
    const auto blobs = ReadBlobs(value.kind, kind.plugin, value.bytes);
    return blobs.ok() ? BlobsText(*blobs) : blobs.status().ToString();
  }
  if (kind.plugin == "hparams") {
    const auto content = ReadHParamsContent(kind.content);
    return content.ok() ? HParamsText(*content) : content.status().ToString();
  }
  if (kind.plugin == "pr_curves") {
    const auto curve = ReadPrCurve(value.bytes);
    if (!curve.ok()) return curve.status().ToString();
    return Joined(curve->precision) + " over " + Joined(curve->recall);
  }
  std::string text;
  if (kind.plugin == "mesh") {
    const auto mesh = ReadMeshContent(kind.content);
    text = mesh.ok() ? MeshText(*mesh) + " " : mesh.status().ToString();
  }
  const auto tensor = ReadTensor(value.kind, value.bytes);
  return text + (tensor.ok() ? TensorText(*tensor) : tensor.status().ToString());
}

std::string GraphText(std::string_view bytes) {
  std::string text = "graph";
  GraphReader reader(GraphReader::Format::kTensorFlow, bytes);
  GraphNode node;
  for (;;) {
    const auto more = reader.Next(&node);
    if (!more.ok()) return more.status().ToString();
    if (!*more) return text;
    text += " " + node.name + "=" + std::string(node.op);
    for (const GraphInput& input : node.inputs) text += "<" + std::string(input.id);
    for (const GraphAttribute& attribute : node.attributes) {
      if (attribute.name == "shape") text += *reader.AttributeJson(attribute);
    }
  }
}

// Returns one row "STEP PLUGIN TAG: VALUE" for each value.
std::vector<std::string> RowsOf(const std::string& file) {
  const std::string contents = Contents(file);
  EXPECT_FALSE(contents.empty()) << file;
  std::vector<std::string> rows;
  std::map<std::string, TagKind> kinds;
  Event event;
  std::string_view rest = contents;
  while (!rest.empty()) {
    const ParsedRecord record = ParseRecord(rest);
    EXPECT_EQ(record.state, ParsedRecord::State::kRecord);
    if (record.state != ParsedRecord::State::kRecord) break;
    rest.remove_prefix(record.size);
    EXPECT_TRUE(DecodeEvent(record.payload, &event).ok());
    EXPECT_EQ(event.wall_time, 1700000000.25);
    if (event.kind == EventKind::kGraph) rows.push_back(GraphText(event.bytes));
    for (const SummaryValue& value : event.values) {
      TagKind& kind = kinds[std::string(value.tag)];
      MergeTagKind(value, &kind);
      rows.push_back(std::to_string(event.step) + " " + kind.plugin + " " + std::string(value.tag) +
                     ": " + ValueText(value, kind));
    }
  }
  return rows;
}

TEST(GoldenFilesTest, TensorFlowsSummaries) {
  const std::vector<std::string> expected = {
      "7 scalars scalar/float16: 1",
      "7 scalars scalar/bfloat16: 1",
      "7 scalars scalar/float32: 1",
      "7 scalars scalar/float64: 1",
      "7 scalars scalar/int8: 1",
      "7 scalars scalar/int16: 1",
      "7 scalars scalar/int32: 1",
      "7 scalars scalar/int64: 1",
      "7 scalars scalar/uint8: 1",
      "7 scalars scalar/uint16: 1",
      "7 scalars scalar/uint32: 1",
      "7 scalars scalar/uint64: 1",
      "7 scalars scalar/bool: 1",
      "7 scalars scalar/float8_e5m2: 1",
      "7 scalars scalar/float8_e4m3fn: 1",
      "7 scalars loss: 0.5",
      "7 histograms histogram: 1,2,3 to 2,3,4 are 1,2,1",
      "7 images image: [image/png 3x2x0 0Hz 68B][image/png 3x2x0 0Hz 68B]",
      "7 audio audio: [audio/wav 0x0x0 0Hz 52B]",
      "7 text text: string[2;] 'first' 'second' ",
      "7  tensor: int64[2;2;] 1,2,3,4",
      "7  complex: complex64[1;] 1,2",
      "7 mesh mesh_VERTEX: mesh/1 float32[1;2;3;] 0,0,0,0,0,0",
      "7 mesh mesh_FACE: mesh/2 int32[1;1;3;] 0,0,0",
      "8 pr_curves pr/pr_curves: 0.5,1,0 over 1,1,0",
      "8 custom_scalars custom_scalars__config__: string[] '\x12\x05\n\x03"
      "all' ",
      "8 hparams _hparams_/session_start_info: nesterov=true optimizer=\"adam\" rate=0.1 group",
      R"(8 hparams _hparams_/experiment: {"time_created_secs":2.5,"hparam_infos":[{"name":"rate",)"
      R"("type":3,"domain_interval":{"max_value":1}}],"metric_infos":[{"name":{"tag":"loss"},)"
      R"("display_name":"Loss"}]})",
      "8 hparams _hparams_/session_end_info: ended 1",
      R"(graph x=Placeholder{"dim":[3]} twice/y=Const twice=Mul<x<twice/y Identity=Identity<twice)",
  };
  EXPECT_EQ(RowsOf("tensorflow.tfevents"), expected);
}

TEST(GoldenFilesTest, TensorboardXsSummaries) {
  const std::vector<std::string> expected = {
      "1 scalars loss: 0.5",
      "2 histograms histogram: 0,0,1.5,3 to 0,1.5,3,4 are 0,1,2,1",
      "3 images image: [image/png 4x2x3 0Hz 68B]",
      "5 text text/text_summary: string[1;] 'words' ",
      "6 pr_curves pr: 0.5,1,0 over 1,1,0",
      "7 mesh mesh_1: mesh/1 float32[1;2;3;] 0,0,0,0,0,0",
      "9 audio audio: [audio/wav 0x0x1 8000Hz 15B]",
      "9  node: 1",
  };
  EXPECT_EQ(RowsOf("tensorboardx.tfevents"), expected);
}

}  // namespace
}  // namespace eventlog
