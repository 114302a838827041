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

// The tags of a run by the last level of their topics "m/RUN/TAG/". It is worked out when somebody
// asks, and kept: 48 bytes a tag and the name of the level. Not thread safe.
class TagLevels {
 public:
  struct Entry {
    std::string level;  // "loss/"
    RunData::TagId tag = 0;
  };

  // All tags of `data`, also empty ones, in the order of their topics. If two tags have one level,
  // which is possible for long names only, the one seen first is there. Valid until the next call.
  std::span<const Entry> Get(const RunData& data);
  // The tag with this level.
  std::optional<RunData::TagId> Find(const RunData& data, std::string_view level);

 private:
  std::uint64_t generation_ = 0;  // That entries_ are of, for its first tags_ tags.
  std::size_t tags_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_TAG_LEVELS_H_
