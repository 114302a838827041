#include "eventlog/tag_metadata.h"

#include <array>

#include "eventlog/wire.h"
#include "protozero/types.hpp"

namespace eventlog {
namespace {

enum class MetadataField : protozero::pbf_tag_type {
  kPluginData = 1,
  kDisplayName = 2,
  kDescription = 3,
};
enum class PluginField : protozero::pbf_tag_type { kContent = 2 };

struct Plugin {
  std::string_view name;
  DataClass data_class;
};

constexpr Plugin kPlugins[] = {
    {"scalars", DataClass::kScalar},
    {"histograms", DataClass::kTensor},
    {"images", DataClass::kBlobSequence},
    {"audio", DataClass::kBlobSequence},
    {"text", DataClass::kTensor},
    {"hparams", DataClass::kTensor},
    {"pr_curves", DataClass::kTensor},
    {"mesh", DataClass::kTensor},
    {"custom_scalars", DataClass::kTensor},
    {"graphs", DataClass::kBlobSequence},
    {"graph_tagged_run_metadata", DataClass::kBlobSequence},
    {"graph_run_metadata", DataClass::kBlobSequence},
    {"graph_run_metadata_graph", DataClass::kBlobSequence},
    {"graph_keras_model", DataClass::kBlobSequence},
    // MindSpore's plugins.
    {"scalar", DataClass::kScalar},
    {"histogram", DataClass::kTensor},
    {"image", DataClass::kBlobSequence},
    {"tensor", DataClass::kTensor},
    {"loss_landscape", DataClass::kTensor},
    {"graph", DataClass::kBlobSequence},
    {"optimized_graph", DataClass::kBlobSequence},
};

// Only the first half can appear in SummaryMetadata, where "scalar" would be another program's
// plugin.
constexpr std::size_t kOfTensorBoard = 14;

constexpr auto kNames = [] {
  std::array<std::string_view, std::size(kPlugins)> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kPlugins[i].name;
  return names;
}();

DataClass ClassIn(std::span<const Plugin> plugins, std::string_view name) {
  for (const Plugin& plugin : plugins) {
    if (plugin.name == name) return plugin.data_class;
  }
  return DataClass::kUnknown;
}

// Returns the plugin that shows an old-style value; empty for other values.
std::string_view ImpliedPlugin(ValueKind kind) {
  switch (kind) {
    case ValueKind::kSimpleValue:
      return "scalars";
    case ValueKind::kHistogram:
      return "histograms";
    case ValueKind::kImage:
      return "images";
    case ValueKind::kAudio:
      return "audio";
    default:
      return {};
  }
}

// Cuts to kMaxTagTextBytes, without splitting a character.
std::string Cut(std::string_view text) {
  if (text.size() <= kMaxTagTextBytes) return std::string(text);
  std::size_t end = kMaxTagTextBytes;
  while (end > kMaxTagTextBytes - 4 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;
  return std::string(text.substr(0, end));
}

void ReadTexts(std::string_view bytes, TagKind* kind) {
  auto metadata = wire::Open<MetadataField>(bytes);
  while (metadata.next()) {
    switch (metadata.tag()) {
      case MetadataField::kPluginData: {
        auto plugin = wire::Open<PluginField>(wire::TakeBytes(metadata));
        while (plugin.next(PluginField::kContent)) {
          const std::string_view content = wire::TakeBytes(plugin);
          kind->content = content.size() <= kMaxTagContentBytes ? content : std::string_view();
        }
        break;
      }
      case MetadataField::kDisplayName:
        kind->display_name = Cut(wire::TakeBytes(metadata));
        break;
      case MetadataField::kDescription:
        kind->description = Cut(wire::TakeBytes(metadata));
        break;
      default:
        metadata.skip();
    }
  }
}

}  // namespace

void MergeTagKind(const SummaryValue& value, TagKind* kind) {
  if (kind->settled) return;
  const std::string_view implied = ImpliedPlugin(value.kind);
  const bool has_metadata = value.metadata.data() != nullptr;
  if (!has_metadata && implied.empty() && value.plugin.empty()) return;
  kind->settled = true;
  kind->implied = !implied.empty();
  // A text field with a wrong wire type must not lose the value: the fields read before it are
  // kept.
  if (has_metadata) (void)wire::Guarded("metadata", [&] { ReadTexts(value.metadata, kind); });
  if (value.data_class == DataClass::kUnknown && !implied.empty()) {
    kind->plugin = implied;
    kind->data_class = DataClassOf(implied);
    if (implied != value.plugin) kind->content.clear();
    return;
  }
  kind->plugin = value.plugin;
  kind->data_class = value.data_class;
  if (kind->data_class == DataClass::kUnknown) {
    kind->data_class = ClassIn(std::span(kPlugins).first(kOfTensorBoard), kind->plugin);
  }
}

ValueUse UseOf(const SummaryValue& value, const TagKind& kind) {
  if (value.kind == ValueKind::kSimpleValue) return ValueUse::kScalar;
  const bool kept = kind.data_class == DataClass::kTensor ||  //
                    kind.data_class == DataClass::kBlobSequence;
  if (kept) return ValueUse::kValue;
  if (value.kind == ValueKind::kNone) return ValueUse::kNothing;
  if (kind.data_class == DataClass::kScalar) {
    return value.scalar.has_value() ? ValueUse::kScalar : ValueUse::kBad;
  }
  return value.scalar.has_value() && !value.shaped ? ValueUse::kScalar : ValueUse::kValue;
}

std::span<const std::string_view> KnownPlugins() { return kNames; }

DataClass DataClassOf(std::string_view plugin) { return ClassIn(kPlugins, plugin); }

}  // namespace eventlog
