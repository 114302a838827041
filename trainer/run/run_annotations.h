#ifndef TRAINER_RUN_RUN_ANNOTATIONS_H_
#define TRAINER_RUN_RUN_ANNOTATIONS_H_

#include <string>

#include "absl/status/status.h"
#include "bus/json/annotations.h"
#include "bus/schema/trainer_generated.h"

namespace trainer {

// A trial's annotations are stored with its options; the file in the run's directory
// (bus/json/annotations.h) is a copy for readers of the run. A trial that was not annotated after
// its start has no such file: its labels are in provenance.json.

bus::Annotations AnnotationsOf(const msg::TrialOptionsT& options);
// Sets the annotations; from then on the trial has the file.
void SetAnnotations(bus::Annotations annotations, msg::TrialOptionsT* options);
// Copies the annotations, the priority, and whether the trial has the file.
void CopyAnnotations(const msg::TrialOptionsT& from, msg::TrialOptionsT* to);

// Writes the file if the trial should have one, its content differs, and the directory exists.
// Blocks for the disk.
absl::Status BringAnnotationsUpToDate(const std::string& run_directory,
                                      const msg::TrialOptionsT& options);

}  // namespace trainer

#endif  // TRAINER_RUN_RUN_ANNOTATIONS_H_
