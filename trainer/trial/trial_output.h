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

// Functions for trials whose reports are read from their output (output_reader.h). Lines are
// numbered by the offsets of their ends in the file that all attempts write to. Any thread.

bool ReportsByOutput(const TrialRecord& trial);
// Returns the start of the next attempt's output as an already answered line of that attempt; empty
// if it is the start of the file, or `last_line`.
std::vector<AnsweredLine> OutputBefore(const TrialRecord& trial, std::int64_t last_line);
// Returns the number of bytes after `last_line`.
std::int64_t OutputBehind(const TrialRecord& trial, std::int64_t last_line);
// Converts lines that were read to lines as a program with a report channel would send them.
std::vector<RelayedLine> AsRelayed(const AttemptKey& attempt,
                                   const std::vector<OutputReader::Line>& lines);
// Appends to `reason` that so many bytes of the output were not stored.
std::string WithLostOutput(std::string reason, std::int64_t bytes);

}  // namespace trainer

#endif  // TRAINER_TRIAL_TRIAL_OUTPUT_H_
