// Measures the delays that a user notices: `yard up` until ready, `yard status`, a call, handing
// over a trial. Prints each median with its limit. Run it on a quiet machine; it starts its own
// yard.

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/yard_fixture.h"

namespace {

absl::Duration Median(std::vector<absl::Duration> samples) {
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

void Print(const char* what, std::vector<absl::Duration> samples, absl::Duration limit) {
  const double worst =
      absl::ToDoubleMilliseconds(*std::max_element(samples.begin(), samples.end()));
  const double median = absl::ToDoubleMilliseconds(Median(std::move(samples)));
  const double bound = absl::ToDoubleMilliseconds(limit);
  std::printf("%-28s %8.1f ms median %8.1f ms worst   limit %6.0f ms   %s\n", what, median, worst,
              bound, median < bound ? "within" : "OVER");
}

}  // namespace

int main() {
  std::vector<absl::Duration> up, status, call, key, run, down;
  for (int round = 0; round < 5; ++round) {
    tests::Yard yard;
    up.push_back(yard.Run({"up", "--logdir", yard.logdir()}).took);
    for (int i = 0; i < 20; ++i) {
      status.push_back(yard.Run({"status"}).took);
      call.push_back(yard.Run({"call", "registry", "List", "{}"}).took);
      key.push_back(yard.Run({"completion", "complete", "--", "stop", ""}).took);
    }
    // Fills the queue as a shell loop does before a night.
    for (int i = 0; i < 50; ++i) {
      run.push_back(yard.Run({"run", "--detach", "--not_before", "12h", "--", "true"}).took);
    }
    down.push_back(yard.Run({"down"}).took);
  }
  Print("yard up, to ready", up, absl::Seconds(1));
  Print("yard status", status, absl::Milliseconds(50));
  Print("yard call registry List", call, absl::Milliseconds(50));
  Print("a key in the shell", key, absl::Milliseconds(100));
  Print("yard run --detach", run, absl::Milliseconds(15));
  Print("yard down, 50 trials wait", down, absl::Seconds(1));
  return 0;
}
