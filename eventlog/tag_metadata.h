#ifndef EVENTLOG_TAG_METADATA_H_
#define EVENTLOG_TAG_METADATA_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "eventlog/event.h"

namespace eventlog {

// Kind of a tag of a run: the plugin that shows it, and how its values are kept. Pure functions of
// what was read so far, in the order of the files; any thread.
//
// As TensorBoard (data_compat.py, dataclass_compat.py and the Rust server's data_compat.rs): the
// first metadata of a tag counts, whatever comes later; a value of the old style implies its
// metadata, and takes the place of metadata without a data class; a known plugin without a data
// class gets its own. Differs from the Rust server in this: what has no metadata waits for some (as
// Python does), and the display name and the description that came with an old value stay.

struct TagKind {
  std::string plugin;  // Empty: no metadata named one.
  DataClass data_class = DataClass::kUnknown;
  std::string display_name;  // Empty: the tag.
  std::string description;   // Markdown.
  std::string content;       // The plugin's own: hparams, mesh, pr_curves (value_decoder.h).
  bool settled = false;      // Metadata was there, or implied: nothing changes any more.
  bool implied = false;      // By a value of the old style, whether there was metadata or not.
};

// Longer texts are cut, and longer content is left out: what a tag has is kept in memory for ever.
inline constexpr std::size_t kMaxTagTextBytes = std::size_t{64} << 10;
inline constexpr std::size_t kMaxTagContentBytes = std::size_t{4} << 20;

// Takes in one more value of the tag. Cheap once the kind is settled.
void MergeTagKind(const SummaryValue& value, TagKind* kind);

// How a value of a tag of this kind is used.
enum class ValueUse : std::uint8_t {
  kNothing,  // The value only announces the tag.
  kScalar,   // A point: `value.scalar` is there.
  kValue,    // Kept as a place in the file. A value of kind kNone is an empty tensor.
  kBad,      // The value should be a scalar and has no number.
};
ValueUse UseOf(const SummaryValue& value, const TagKind& kind);

// All that TensorBoard 2.21 and MindInsight 2.3 know, in the order in which they are listed:
// MindSpore's names ("scalar") after TensorBoard's ("scalars").
std::span<const std::string_view> KnownPlugins();
// kUnknown for a plugin that is not among them.
DataClass DataClassOf(std::string_view plugin);

// The tag under which a run's graph is found, as in TensorBoard.
inline constexpr std::string_view kRunGraphTag = "__run_graph__";

}  // namespace eventlog

#endif  // EVENTLOG_TAG_METADATA_H_
