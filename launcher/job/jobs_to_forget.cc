#include "launcher/job/jobs_to_forget.h"

#include <algorithm>
#include <utility>

namespace launcher {

std::vector<std::string> JobsToForget(const std::vector<const JobRow*>& rows,
                                      std::int64_t oldest_us, std::size_t keep_count) {
  std::vector<std::pair<std::int64_t, std::string>> ended;
  for (const JobRow* row : rows) {
    if (row->has_ended()) ended.emplace_back(row->ended_us, row->id);
  }
  std::sort(ended.begin(), ended.end());
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < ended.size(); ++i) {
    if (ended[i].first >= oldest_us && ended.size() - i <= keep_count) break;
    ids.push_back(ended[i].second);
  }
  return ids;
}

}  // namespace launcher
