#ifndef DATAMANAGER_CATALOG_TAG_LEVELS_H_
#define DATAMANAGER_CATALOG_TAG_LEVELS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "datamanager/read/run_data.h"

namespace datamanager {

// The tags of a run by the last level of their topics "m/RUN/TAG/". Computed on demand and kept, in
// 48 bytes per tag plus the level's name. Not thread safe.
class TagLevels {
 public:
  struct Entry {
    std::string level;  // "loss/"
    RunData::TagId tag = 0;
  };

  // Returns all tags of `data`, including empty ones, in the order of their topics. If two tags
  // have the same level, which only long names can have, only the first-seen one is included. Valid
  // until the next call.
  std::span<const Entry> Get(const RunData& data);
  // Returns the tag with this level.
  std::optional<RunData::TagId> Find(const RunData& data, std::string_view level);

 private:
  std::uint64_t generation_ = 0;  // Generation of entries_, which has its first tags_ tags.
  std::size_t tags_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_TAG_LEVELS_H_
