#include "tools/yard/log_positions.h"

#include <algorithm>
#include <utility>

namespace yard {
namespace {

constexpr std::uint32_t kMostAttempts = 100;

}  // namespace

std::size_t LogPositions::Take(const msg::LogsReplyT& part) {
  if (part.data.empty()) return 0;
  Place& place = places_[part.task];
  if (part.attempt < place.attempt) return 0;
  if (part.attempt > place.attempt) place = Place{.attempt = part.attempt};
  place.is_current = true;
  std::uint64_t& known =
      part.stream == msg::LogStream::Stdout ? place.stdout_end : place.stderr_end;
  const std::uint64_t end = part.offset + part.data.size();
  if (end <= known) return part.data.size();
  const std::uint64_t skip = known > part.offset ? known - part.offset : 0;
  known = end;
  return static_cast<std::size_t>(skip);
}

void LogPositions::Broke() {
  for (auto& [task, place] : places_) place.is_current = false;
}

std::vector<msg::LogsRequestT> LogPositions::Missed(const msg::LogsReplyT& part) {
  std::vector<msg::LogsRequestT> requests;
  const auto found = places_.find(part.task);
  if (part.data.empty() || found == places_.end() || found->second.is_current) return requests;
  Place& place = found->second;
  place.is_current = true;
  if (part.attempt <= place.attempt) return requests;
  const std::uint32_t first =
      std::max(place.attempt, part.attempt - std::min(part.attempt, kMostAttempts));
  for (std::uint32_t attempt = first; attempt < part.attempt; ++attempt) {
    msg::LogsRequestT request;
    request.job = part.task;
    request.attempt = attempt;
    if (attempt == place.attempt) {
      request.stdout_offset = place.stdout_end;
      request.stderr_offset = place.stderr_end;
    }
    requests.push_back(std::move(request));
  }
  return requests;
}

}  // namespace yard
