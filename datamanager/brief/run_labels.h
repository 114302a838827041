#ifndef DATAMANAGER_BRIEF_RUN_LABELS_H_
#define DATAMANAGER_BRIEF_RUN_LABELS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "datamanager/brief/run_config.h"

namespace datamanager {

// The trial behind a run, as the run's provenance.json describes it: its members "labels" (a list
// of texts), "trial" and "group" (texts), each of which may be missing. The only other members that
// are read describe the command: "argv" (a list of texts), and "commit" and "dirty" in "git"; a
// value of another type there counts as missing.
struct RunLabels {
  static constexpr std::size_t kMaxBytes = 2 << 20;  // Limit of the file's size.
  static constexpr std::size_t kMaxLabels = 64;

  std::vector<std::string> labels;
  std::string trial;
  std::string group;
  RunConfig command;  // As CommandParameters() of run_parameters.h.
};

// InvalidArgument: no JSON object, a member of another type, or more than kMaxLabels labels.
absl::StatusOr<RunLabels> ParseRunLabels(std::string_view text);

}  // namespace datamanager

#endif  // DATAMANAGER_BRIEF_RUN_LABELS_H_
