#include "bench/round_trips.h"

#include <algorithm>
#include <vector>

#include "runtime/clock.h"

namespace bench {
namespace {

constexpr int kWarmUp = 100;

}  // namespace

absl::StatusOr<double> MedianRoundTrip(absl::Duration time,
                                       const std::function<absl::Status()>& once) {
  for (int i = 0; i < kWarmUp; ++i) {
    if (absl::Status done = once(); !done.ok()) return done;
  }
  const runtime::Clock& clock = *runtime::Clock::Real();
  const absl::Duration end = clock.Monotonic() + time;
  std::vector<absl::Duration> took;
  for (absl::Duration before = clock.Monotonic(); took.empty() || before < end;) {
    if (absl::Status done = once(); !done.ok()) return done;
    const absl::Duration after = clock.Monotonic();
    took.push_back(after - before);
    before = after;
  }
  const auto middle = took.begin() + static_cast<std::ptrdiff_t>(took.size() / 2);
  std::nth_element(took.begin(), middle, took.end());
  return absl::ToDoubleMicroseconds(*middle);
}

}  // namespace bench
