#include "launcher/job/job_list.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace launcher {

std::vector<const JobRow*> ListJobs(const std::vector<const JobRow*>& rows,
                                    const JobListOptions& options) {
  std::vector<const JobRow*> listed, ended;
  for (const JobRow* row : rows) (row->has_ended() ? ended : listed).push_back(row);
  if (options.live_only) ended.clear();
  if (options.newest_ended > 0 && ended.size() > options.newest_ended) {
    const auto end = ended.begin() + static_cast<std::ptrdiff_t>(options.newest_ended);
    std::nth_element(ended.begin(), end, ended.end(), [](const JobRow* a, const JobRow* b) {
      return std::pair(a->ended_us, a->created_us) > std::pair(b->ended_us, b->created_us);
    });
    ended.erase(end, ended.end());
  }
  listed.insert(listed.end(), ended.begin(), ended.end());
  std::sort(listed.begin(), listed.end(), [](const JobRow* a, const JobRow* b) {
    return std::pair(a->created_us, a->id) < std::pair(b->created_us, b->id);
  });
  return listed;
}

}  // namespace launcher
