#ifndef TRAINER_RUN_RUN_ANNOTATIONS_H_
#define TRAINER_RUN_RUN_ANNOTATIONS_H_

#include <string>

#include "absl/status/status.h"
#include "bus/json/annotations.h"
#include "bus/schema/trainer_generated.h"

namespace trainer {

// Annotations of a trial are kept with its options; the file in its run's directory
// (bus/json/annotations.h) is a copy for readers of the run. A trial that nobody has annotated
// since it was started has no such file: its labels are in provenance.json.

bus::Annotations AnnotationsOf(const msg::TrialOptionsT& options);
// From then on it has the file.
void SetAnnotations(bus::Annotations annotations, msg::TrialOptionsT* options);
// Also whether it has the file, and the priority.
void CopyAnnotations(const msg::TrialOptionsT& from, msg::TrialOptionsT* to);

// Writes the file, if the trial is to have one, it does not say so already, and there is a
// directory. Blocks for the disk.
absl::Status BringAnnotationsUpToDate(const std::string& run_directory,
                                      const msg::TrialOptionsT& options);

}  // namespace trainer

#endif  // TRAINER_RUN_RUN_ANNOTATIONS_H_
