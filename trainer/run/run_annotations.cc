#include "trainer/run/run_annotations.h"

#include <filesystem>
#include <system_error>
#include <utility>

namespace trainer {

bus::Annotations AnnotationsOf(const msg::TrialOptionsT& options) {
  return {.labels = options.labels, .note = options.note, .display_name = options.display_name};
}

void SetAnnotations(bus::Annotations annotations, msg::TrialOptionsT* options) {
  options->labels = std::move(annotations.labels);
  options->note = std::move(annotations.note);
  options->display_name = std::move(annotations.display_name);
  options->annotated = true;
}

void CopyAnnotations(const msg::TrialOptionsT& from, msg::TrialOptionsT* to) {
  to->labels = from.labels;
  to->note = from.note;
  to->display_name = from.display_name;
  to->annotated = from.annotated;
  to->priority = from.priority;
}

absl::Status BringAnnotationsUpToDate(const std::string& run_directory,
                                      const msg::TrialOptionsT& options) {
  std::error_code none;
  if (!options.annotated || !std::filesystem::is_directory(run_directory, none)) {
    return absl::OkStatus();
  }
  const bus::Annotations wanted = AnnotationsOf(options);
  const auto found = bus::ReadAnnotations(run_directory);
  if (found.ok() && *found == wanted) return absl::OkStatus();
  return bus::WriteAnnotations(run_directory, wanted);
}

}  // namespace trainer
