#ifndef EVENTLOG_TAG_METADATA_H_
#define EVENTLOG_TAG_METADATA_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "eventlog/event.h"

namespace eventlog {

// The kind of a run's tag: the plugin that shows it, and how its values are kept. Pure functions of
// what was read so far, in the order of the files; any thread.
//
// Follows TensorBoard (data_compat.py, dataclass_compat.py and the Rust server's data_compat.rs):
// the first metadata of a tag counts, whatever comes later; an old-style value implies its
// metadata, and replaces metadata without a data class; a known plugin without a data class gets
// its own. Differences from the Rust server: a value without metadata waits for some (as in
// Python), and the display name and description that came with an old value are kept.

struct TagKind {
  std::string plugin;  // Empty: not named in any metadata.
  DataClass data_class = DataClass::kUnknown;
  std::string display_name;  // Empty: the tag's name.
  std::string description;   // Markdown.
  std::string content;       // Raw content of the plugin: hparams, mesh, pr_curves
                             // (value_decoder.h).
  bool settled = false;      // Metadata was found or implied: nothing changes any more.
  bool implied = false;      // By an old-style value, with or without metadata.
};

// Longer texts are cut, and longer content is dropped, because a tag's data stays in memory for
// ever.
inline constexpr std::size_t kMaxTagTextBytes = std::size_t{64} << 10;
inline constexpr std::size_t kMaxTagContentBytes = std::size_t{4} << 20;

// Updates the kind with one more value of the tag. Cheap once the kind is settled.
void MergeTagKind(const SummaryValue& value, TagKind* kind);

// How a value of a tag of this kind is used.
enum class ValueUse : std::uint8_t {
  kNothing,  // The value only announces the tag.
  kScalar,   // A point: `value.scalar` is set.
  kValue,    // Its place in the file is kept. A value of kind kNone is an empty tensor.
  kBad,      // The value should be a scalar but contains no number.
};
ValueUse UseOf(const SummaryValue& value, const TagKind& kind);

// Returns all plugins that TensorBoard 2.21 and MindInsight 2.3 know, in listing order: MindSpore's
// names ("scalar") after TensorBoard's ("scalars").
std::span<const std::string_view> KnownPlugins();
// Returns kUnknown for any other plugin.
DataClass DataClassOf(std::string_view plugin);

// The tag of a run's graph, as in TensorBoard.
inline constexpr std::string_view kRunGraphTag = "__run_graph__";

}  // namespace eventlog

#endif  // EVENTLOG_TAG_METADATA_H_
