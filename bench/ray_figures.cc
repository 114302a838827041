#include "bench/ray_figures.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "bench/peers.h"

namespace bench {

absl::StatusOr<RayFigures> MeasureRay(int reports, int trials) {
  const auto python = FindPeer("ray", "bin/python");
  if (!python.ok()) return python.status();
  const auto figures =
      RunPeerScript(*python, "ray_figures.py", {absl::StrCat(reports), absl::StrCat(trials)});
  if (!figures.ok()) return figures.status();
  return RayFigures{figures->value("reports_per_second", 0.0),
                    figures->value("one_report_trial_ms", 0.0),
                    figures->value("at_rest_megabytes", 0.0)};
}

}  // namespace bench
