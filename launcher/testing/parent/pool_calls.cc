#include "launcher/testing/parent/pool_calls.h"

#include <optional>
#include <utility>

namespace launcher::testing {

std::uint64_t PoolCalls::Add(std::shared_ptr<PoolCall> call, std::size_t worker,
                             std::uint64_t child) {
  pending_[++last_] = {std::move(call), worker, child};
  return last_;
}

void PoolCalls::Answered(std::uint64_t number, CallResult result) {
  const auto found = pending_.extract(number);
  if (found.empty()) return;
  found.mapped().call->Answer(found.mapped().worker, std::move(result), /*died=*/false);
}

void PoolCalls::ChildGone(std::uint64_t child, const absl::Status& why) {
  std::erase_if(pending_, [&](const auto& item) {
    const Pending& pending = item.second;
    if (pending.child != child) return false;
    pending.call->Answer(pending.worker, {why, std::nullopt}, /*died=*/true);
    return true;
  });
}

}  // namespace launcher::testing
