#ifndef DATAMANAGER_BRIEF_RUN_LABELS_H_
#define DATAMANAGER_BRIEF_RUN_LABELS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "datamanager/brief/run_config.h"

namespace datamanager {

// The trial behind a run, from the run's provenance.json: its members "labels" (a list of texts),
// "trial" and "group" (texts), each optional. The only other members that are read describe the
// command: "argv" (a list of texts), and "commit" and "dirty" in "git"; if one of these has another
// type, it is ignored.
struct RunLabels {
  static constexpr std::size_t kMaxBytes = 2 << 20;  // Limit of the file's size.
  static constexpr std::size_t kMaxLabels = 64;

  std::vector<std::string> labels;
  std::string trial;
  std::string group;
  RunConfig command;  // From CommandParameters() of run_parameters.h.
};

// Returns InvalidArgument if the text is not a JSON object, a member has another type, or there are
// more than kMaxLabels labels.
absl::StatusOr<RunLabels> ParseRunLabels(std::string_view text);

}  // namespace datamanager

#endif  // DATAMANAGER_BRIEF_RUN_LABELS_H_
