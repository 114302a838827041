#ifndef DATAMANAGER_ANSWER_TAG_PAGES_H_
#define DATAMANAGER_ANSWER_TAG_PAGES_H_

// Makes pages of Tags and Scalars from the data in memory: never waits and reads no file.

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

// A page ends after the run or tag that takes it over this size; an answer may have 64 MiB. The
// names in the lists of plugins take at most the same size in addition.
inline constexpr std::size_t kMostPageBytes = std::size_t{16} << 20;
// Encoded size of a name without its text, and of a tag or a run with all its numbers.
inline constexpr std::size_t kBytesOfAName = 16;
inline constexpr std::size_t kBytesOfATable = 400;

// Returns null for an empty pattern.
absl::StatusOr<std::optional<NamePattern>> CompilePattern(const std::string& pattern);

using PluginLists = std::vector<std::unique_ptr<msg::PluginTagsT>>;
// Lists every known plugin and each other plugin that a tag names, with the tags of each. The lists
// together have the first tags by name that fit into `*bytes`, from which their size is subtracted.
PluginLists PluginsOf(const RunData& data, std::size_t* bytes);

// Returns a page of a run's tags, by name. Every known plugin has a list of its tags, which may be
// empty, and so has every other plugin that a tag of the run names. InvalidArgument if the pattern
// is malformed.
absl::StatusOr<msg::TagsReplyT> TagsPage(const RunSource::View& view,
                                         const msg::TagsRequestT& request);

// Returns points of one tag, or columns of them. NotFound names tags that the run has;
// InvalidArgument for an unknown policy.
absl::StatusOr<msg::ScalarsReplyT> ScalarsPage(const RunSource::View& view,
                                               const msg::ScalarsRequestT& request);

}  // namespace datamanager

#endif  // DATAMANAGER_ANSWER_TAG_PAGES_H_
