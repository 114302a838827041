#ifndef DATAMANAGER_ANSWER_TAG_PAGES_H_
#define DATAMANAGER_ANSWER_TAG_PAGES_H_

// Pages of Tags and Scalars, of what is known by now: nothing here waits or reads a file.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/schema/datamanager_generated.h"
#include "datamanager/catalog/run_source.h"
#include "datamanager/find/name_pattern.h"
#include "datamanager/read/run_data.h"

namespace datamanager {

// A page ends behind the run or tag that makes it so large; an answer may have 64 MiB. Names in the
// lists of plugins take at most as much again.
inline constexpr std::size_t kMostPageBytes = std::size_t{16} << 20;
// Bytes that a message needs for a name beside the text, and for a tag or a run with all of its
// numbers.
inline constexpr std::size_t kBytesOfAName = 16;
inline constexpr std::size_t kBytesOfATable = 400;

// Nothing for an empty pattern.
absl::StatusOr<std::optional<NamePattern>> CompilePattern(const std::string& pattern);

using PluginLists = std::vector<std::unique_ptr<msg::PluginTagsT>>;
// Lists every known plugin and each other plugin that a tag names. The lists together have the
// first tags by name that fit into `*bytes`, from which their size is subtracted.
PluginLists PluginsOf(const RunData& data, std::size_t* bytes);

// The tags of a run by name. Every known plugin has a list of its tags, maybe an empty one, and so
// has every other plugin that a tag of the run names. InvalidArgument: the pattern is invalid.
absl::StatusOr<msg::TagsReplyT> TagsPage(const RunSource::View& view,
                                         const msg::TagsRequestT& request);

// Points of one tag, or columns of them. NotFound names tags that the run has; InvalidArgument: an
// unknown policy.
absl::StatusOr<msg::ScalarsReplyT> ScalarsPage(const RunSource::View& view,
                                               const msg::ScalarsRequestT& request);

}  // namespace datamanager

#endif  // DATAMANAGER_ANSWER_TAG_PAGES_H_
