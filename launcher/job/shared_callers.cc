#include "launcher/job/shared_callers.h"

#include <cstddef>
#include <utility>

namespace launcher {

std::shared_ptr<const FromCaller> SharedCallers::Share(FromCaller caller) {
  std::erase_if(callers_, [](const auto& kept) { return kept.expired(); });
  std::size_t compared = 0;
  for (auto kept = callers_.rbegin(); kept != callers_.rend(); ++kept) {
    if (compared++ == kMostCompared) break;
    auto known = kept->lock();
    if (*known == caller) return known;
  }
  caller.environment.shrink_to_fit();
  auto added = std::make_shared<const FromCaller>(std::move(caller));
  callers_.push_back(added);
  return added;
}

}  // namespace launcher
