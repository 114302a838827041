#include "trainer/trial/trial_queue.h"

#include <algorithm>
#include <thread>

#include "absl/strings/str_cat.h"

namespace trainer {

bool StartsBefore(const WaitingTrial& a, const WaitingTrial& b) {
  return a.priority != b.priority ? a.priority > b.priority : a.number < b.number;
}

int SlotsOf(int asked) {
  return asked > 0 ? asked : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

std::string WhyItWaits(std::size_t used, std::size_t slots, std::size_t before) {
  const bool is_full = used >= slots;
  std::string why = is_full ? absl::StrCat("waits for a slot (", used, " of ", slots, " in use)")
                            : std::string("waits for its start");
  if (before > 0) absl::StrAppend(&why, ", ", before, " before it");
  return why;
}

}  // namespace trainer
