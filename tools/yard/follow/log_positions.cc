#include "tools/yard/follow/log_positions.h"

#include <algorithm>
#include <utility>

namespace yard {
namespace {

constexpr std::uint32_t kMostAttempts = 100;

}  // namespace

std::size_t LogPositions::Take(const msg::LogsReplyT& part) {
  if (part.data.empty()) return 0;
  Place& place = places_[part.task];
  place.is_current = true;
  auto& attempts = place.attempts;
  if (!attempts.empty() && part.attempt < attempts.begin()->first) return part.data.size();
  Ends& ends = attempts[part.attempt];
  if (attempts.size() > kMostAttempts) attempts.erase(attempts.begin());
  std::uint64_t& known = part.stream == msg::LogStream::Stdout ? ends.stdout_end : ends.stderr_end;
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
  const auto& [newest, ends] = *place.attempts.rbegin();
  if (part.attempt <= newest) return requests;
  const std::uint32_t first =
      std::max(newest, part.attempt - std::min(part.attempt, kMostAttempts));
  for (std::uint32_t attempt = first; attempt < part.attempt; ++attempt) {
    msg::LogsRequestT request;
    request.job = part.task;
    request.attempt = attempt;
    if (attempt == newest) {
      request.stdout_offset = ends.stdout_end;
      request.stderr_offset = ends.stderr_end;
    }
    requests.push_back(std::move(request));
  }
  return requests;
}

}  // namespace yard
