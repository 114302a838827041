#ifndef TRAINER_TRIAL_TRIAL_OUTPUT_H_
#define TRAINER_TRIAL_TRIAL_OUTPUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/attempt/output_reader.h"
#include "trainer/report/line_receiver.h"
#include "trainer/store/trial_record.h"
#include "trainer/store/trial_store.h"

namespace trainer {

// A trial whose reports are read from its output (output_reader.h): its lines are numbered by their
// ends' offsets in the file that all its attempts write to. Any thread.

bool ReportsByOutput(const TrialRecord& trial);
// Where the output of the next attempt begins, as a line of that attempt; none if that is the
// beginning of the file, or `last_line`.
std::vector<AnsweredLine> OutputBefore(const TrialRecord& trial, std::int64_t last_line);
// The bytes behind `last_line`.
std::int64_t OutputBehind(const TrialRecord& trial, std::int64_t last_line);
// The lines that were read, as a program that knows the channel would have sent them.
std::vector<RelayedLine> AsRelayed(const AttemptKey& attempt,
                                   const std::vector<OutputReader::Line>& lines);
// `reason`, and that so many bytes of the output were not stored.
std::string WithLostOutput(std::string reason, std::int64_t bytes);

}  // namespace trainer

#endif  // TRAINER_TRIAL_TRIAL_OUTPUT_H_
