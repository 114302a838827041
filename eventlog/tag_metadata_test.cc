#include "eventlog/tag_metadata.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "eventlog/testing/protobuf_bytes.h"

namespace eventlog {
namespace {

using testing::Bytes;
using testing::Number;

constexpr auto kUnknown = DataClass::kUnknown;
constexpr auto kScalar = DataClass::kScalar;
constexpr auto kTensor = DataClass::kTensor;
constexpr auto kBlobs = DataClass::kBlobSequence;

// The relevant parts of a value; a null `plugin` means that it has no metadata.
struct Seen {
  ValueKind kind;
  const char* plugin;
  DataClass data_class = kUnknown;
};

TagKind Merged(const std::vector<Seen>& values) {
  TagKind kind;
  for (const Seen& seen : values) {
    SummaryValue value;
    value.kind = seen.kind;
    std::string metadata;
    if (seen.plugin != nullptr) {
      metadata = Bytes(1, Bytes(1, seen.plugin) + Bytes(2, "content")) + Bytes(2, "name") +
                 Bytes(3, "words");
      value.metadata = metadata;
      value.plugin = seen.plugin;
    }
    value.data_class = seen.data_class;
    MergeTagKind(value, &kind);
  }
  return kind;
}

struct Row {
  const char* what;
  std::vector<Seen> values;
  const char* plugin;
  DataClass data_class;
};

TEST(TagMetadataTest, TheKindOfATagIsThatOfItsFirstMetadata) {
  const auto simple = ValueKind::kSimpleValue;
  const auto tensor = ValueKind::kTensor;
  const auto histogram = ValueKind::kHistogram;
  const auto image = ValueKind::kImage;
  const auto audio = ValueKind::kAudio;
  const auto none = ValueKind::kNone;
  const Row rows[] = {
      {"nothing", {}, "", kUnknown},
      {"old scalar", {{simple, nullptr}}, "scalars", kScalar},
      {"old histogram", {{histogram, nullptr}}, "histograms", kTensor},
      {"old image", {{image, nullptr}}, "images", kBlobs},
      {"old audio", {{audio, nullptr}}, "audio", kBlobs},
      {"tensor alone", {{tensor, nullptr}}, "", kUnknown},
      {"tag alone", {{none, nullptr}}, "", kUnknown},
      {"new scalar", {{tensor, "scalars", kScalar}}, "scalars", kScalar},
      {"no class: scalars", {{tensor, "scalars"}}, "scalars", kScalar},
      {"no class: histograms", {{tensor, "histograms"}}, "histograms", kTensor},
      {"no class: text", {{tensor, "text"}}, "text", kTensor},
      {"no class: hparams", {{none, "hparams"}}, "hparams", kTensor},
      {"no class: pr_curves", {{tensor, "pr_curves"}}, "pr_curves", kTensor},
      {"no class: mesh", {{tensor, "mesh"}}, "mesh", kTensor},
      {"no class: custom_scalars", {{tensor, "custom_scalars"}}, "custom_scalars", kTensor},
      {"no class: images", {{tensor, "images"}}, "images", kBlobs},
      {"no class: audio", {{tensor, "audio"}}, "audio", kBlobs},
      {"no class: graph", {{tensor, "graph_run_metadata"}}, "graph_run_metadata", kBlobs},
      {"no class: keras", {{tensor, "graph_keras_model"}}, "graph_keras_model", kBlobs},
      {"no class: other", {{tensor, "mine"}}, "mine", kUnknown},
      {"no class: MindSpore's name", {{tensor, "scalar"}}, "scalar", kUnknown},
      {"other with class", {{tensor, "mine", kTensor}}, "mine", kTensor},
      {"old value beats no class", {{simple, "mine"}}, "scalars", kScalar},
      {"old value beats another plugin", {{histogram, "scalars"}}, "histograms", kTensor},
      {"a class beats the old value", {{simple, "mine", kTensor}}, "mine", kTensor},
      {"a later number", {{tensor, "mine", DataClass{9}}}, "mine", DataClass{9}},
      {"the first wins", {{tensor, "text", kTensor}, {tensor, "mesh", kTensor}}, "text", kTensor},
      {"later without", {{tensor, "text", kTensor}, {tensor, nullptr}}, "text", kTensor},
      {"later with", {{tensor, nullptr}, {tensor, "text", kTensor}}, "text", kTensor},
      {"old after none", {{tensor, nullptr}, {image, nullptr}}, "images", kBlobs},
      {"old value, later another", {{simple, nullptr}, {tensor, "text"}}, "scalars", kScalar},
      {"empty metadata settles", {{tensor, ""}, {tensor, "text"}}, "", kUnknown},
  };
  for (const Row& row : rows) {
    const TagKind kind = Merged(row.values);
    EXPECT_EQ(kind.plugin, row.plugin) << row.what;
    EXPECT_EQ(kind.data_class, row.data_class) << row.what;
  }
}

TEST(TagMetadataTest, NameDescriptionAndContentAreKept) {
  const TagKind kind = Merged({{ValueKind::kTensor, "mesh", kTensor}});
  EXPECT_EQ(kind.display_name, "name");
  EXPECT_EQ(kind.description, "words");
  EXPECT_EQ(kind.content, "content");
  // The content belongs to the plugin: another plugin could not parse it.
  const TagKind old = Merged({{ValueKind::kSimpleValue, "mesh"}});
  EXPECT_EQ(old.display_name, "name");
  EXPECT_EQ(old.content, "");
}

TEST(TagMetadataTest, WhatIsKeptForATagIsBounded) {
  TagKind kind;
  std::string long_text;
  for (int i = 0; i < 30000; ++i) long_text += "\xE2\x82\xAC";
  const std::string metadata =
      Bytes(1, Bytes(1, "text") + Bytes(2, std::string(kMaxTagContentBytes + 1, 'c'))) +
      Bytes(2, long_text) + Bytes(3, std::string(kMaxTagTextBytes + 1, 'd'));
  SummaryValue value;
  value.kind = ValueKind::kTensor;
  value.plugin = "text";
  value.metadata = metadata;
  MergeTagKind(value, &kind);
  EXPECT_EQ(kind.content, "");
  EXPECT_EQ(kind.display_name.size(), kMaxTagTextBytes / 3 * 3);
  EXPECT_EQ(kind.description.size(), kMaxTagTextBytes);
}

TEST(TagMetadataTest, DamagedTextsCostThemselves) {
  TagKind kind;
  const std::string metadata = Bytes(3, "words") + Number(2, 1) + Bytes(1, Bytes(2, "content"));
  SummaryValue value;
  value.kind = ValueKind::kTensor;
  value.plugin = "text";
  value.metadata = metadata;
  MergeTagKind(value, &kind);
  EXPECT_EQ(kind.plugin, "text");
  EXPECT_EQ(kind.data_class, kTensor);
  EXPECT_EQ(kind.description, "words");
}

TEST(TagMetadataTest, MindSporesValuesNameTheirPluginThemselves) {
  SummaryValue value;
  value.kind = ValueKind::kMindSporeTensor;
  value.plugin = "tensor";
  value.data_class = kTensor;
  TagKind kind;
  MergeTagKind(value, &kind);
  EXPECT_TRUE(kind.settled);
  EXPECT_EQ(kind.plugin, "tensor");
  EXPECT_EQ(UseOf(value, kind), ValueUse::kValue);
}

struct UseRow {
  const char* what;
  ValueKind kind;
  std::optional<double> scalar;
  bool shaped;
  DataClass data_class;
  ValueUse use;
};

TEST(TagMetadataTest, TheClassSaysWhetherANumberIsAPoint) {
  const auto tensor = ValueKind::kTensor;
  const UseRow rows[] = {
      {"old", ValueKind::kSimpleValue, 1.0, false, kScalar, ValueUse::kScalar},
      {"old in a tag of tensors", ValueKind::kSimpleValue, 1.0, false, kTensor, ValueUse::kScalar},
      {"scalar", tensor, 1.0, false, kScalar, ValueUse::kScalar},
      {"scalar [1]", tensor, 1.0, true, kScalar, ValueUse::kScalar},
      {"no number", tensor, {}, false, kScalar, ValueUse::kBad},
      {"tensor of rank 0", tensor, 1.0, false, kTensor, ValueUse::kValue},
      {"blob", tensor, {}, false, kBlobs, ValueUse::kValue},
      {"unknown number", tensor, 1.0, false, kUnknown, ValueUse::kScalar},
      {"unknown [1]", tensor, 1.0, true, kUnknown, ValueUse::kValue},
      {"unknown", tensor, {}, false, kUnknown, ValueUse::kValue},
      {"class of later", tensor, 1.0, false, DataClass{9}, ValueUse::kScalar},
      {"announced scalar", ValueKind::kNone, {}, false, kScalar, ValueUse::kNothing},
      {"announced", ValueKind::kNone, {}, false, kUnknown, ValueUse::kNothing},
      {"hparams", ValueKind::kNone, {}, false, kTensor, ValueUse::kValue},
      {"old histogram", ValueKind::kHistogram, {}, false, kTensor, ValueUse::kValue},
      {"histogram among scalars", ValueKind::kHistogram, {}, false, kScalar, ValueUse::kBad},
  };
  for (const UseRow& row : rows) {
    SummaryValue value;
    value.kind = row.kind;
    value.scalar = row.scalar;
    value.shaped = row.shaped;
    TagKind kind;
    kind.data_class = row.data_class;
    EXPECT_EQ(UseOf(value, kind), row.use) << row.what;
  }
}

TEST(TagMetadataTest, EveryKnownPluginHasAClassAndStandsOnce) {
  std::set<std::string_view> seen;
  for (const std::string_view plugin : KnownPlugins()) {
    EXPECT_NE(DataClassOf(plugin), kUnknown) << plugin;
    EXPECT_TRUE(seen.insert(plugin).second) << plugin;
  }
  EXPECT_EQ(DataClassOf("mine"), kUnknown);
}

}  // namespace
}  // namespace eventlog
