#ifndef BUS_JSON_ANNOTATIONS_H_
#define BUS_JSON_ANNOTATIONS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/schema/common_generated.h"

namespace bus {

// Labels, note and display name of a run. They are kept in the run's directory, in a JSON file that
// the owner of the run writes: {"labels": ["base"], "note": "...", "display_name": "..."}. (W&B and
// MLflow keep such things in their databases alone.) Any thread.
struct Annotations {
  static constexpr std::string_view kFile = "annotations.json";
  static constexpr std::size_t kMaxBytes = 256 << 10;  // Limit of the file's size.
  static constexpr std::size_t kMaxLabels = 64;
  static constexpr std::size_t kMaxLabel = 256;  // Bytes, as the two below.
  static constexpr std::size_t kMaxNote = 4096;
  static constexpr std::size_t kMaxDisplayName = 256;

  std::vector<std::string> labels = {};  // In the order in which they came.
  std::string note = {};                 // May have any number of lines.
  std::string display_name = {};

  bool operator==(const Annotations&) const = default;
};

// InvalidArgument names the label: there are more than that, one is there twice, empty, longer than
// that, not UTF-8, or holds a control character.
absl::Status CheckLabels(const std::vector<std::string>& labels);
// The same for all of it. Note and display name have nothing either that turns the direction of
// text around; a note may have tabs and ends of lines.
absl::Status CheckAnnotations(const Annotations& annotations);

// `before` with the change that is asked for. InvalidArgument: what would come of it is refused, or
// a label is to be added and removed at once.
absl::StatusOr<Annotations> Annotated(Annotations before, const msg::AnnotateRequestT& request);

// InvalidArgument: no such file's text, or more in it than is allowed. Other members are ignored.
absl::StatusOr<Annotations> ParseAnnotations(std::string_view text);

// Blocks for the disk. Reading: NotFound if the run has no such file, and the errors of
// ParseAnnotations(). Writing replaces the file in one step; FailedPrecondition: nothing can be
// written there.
absl::StatusOr<Annotations> ReadAnnotations(const std::string& run_directory);
absl::Status WriteAnnotations(const std::string& run_directory, const Annotations& annotations);

msg::AnnotateReplyT AnnotateReply(const std::string& run, const Annotations& annotations);

}  // namespace bus

#endif  // BUS_JSON_ANNOTATIONS_H_
