#include "trainer/trial/trial_output.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "runtime/counted.h"
#include "trainer/attempt/program_runner.h"

namespace trainer {
namespace {

// Returns the size of the trial's output in bytes; 0 without output.
std::int64_t SizeOfOutput(const TrialRecord& trial) {
  std::error_code missing;
  const auto size = std::filesystem::file_size(OutputPathOf(trial), missing);
  return missing ? 0 : static_cast<std::int64_t>(size);
}

}  // namespace

bool ReportsByOutput(const TrialRecord& trial) {
  return !trial.spec.options.output_reports.empty();
}

std::vector<AnsweredLine> OutputBefore(const TrialRecord& trial, std::int64_t last_line) {
  if (!ReportsByOutput(trial)) return {};
  const std::int64_t begin = SizeOfOutput(trial);
  if (begin <= last_line) return {};
  return {AnsweredLine{trial.number, trial.attempt, begin, ""}};
}

std::int64_t OutputBehind(const TrialRecord& trial, std::int64_t last_line) {
  return std::max<std::int64_t>(0, SizeOfOutput(trial) - last_line);
}

std::vector<RelayedLine> AsRelayed(const AttemptKey& attempt,
                                   const std::vector<OutputReader::Line>& lines) {
  std::vector<RelayedLine> reports;
  for (const OutputReader::Line& line : lines) {
    reports.push_back(
        {attempt, line.end, absl::StrCat(R"({"t":"report","m":)", line.metrics, "}"), false});
  }
  return reports;
}

std::string WithLostOutput(std::string reason, std::int64_t bytes) {
  if (bytes == 0) return reason;
  return absl::StrCat(
      reason, reason.empty() ? "" : "; ", "there was no room for the reports in the last ",
      runtime::Counted(static_cast<std::uint64_t>(bytes), "byte"), " of its output");
}

}  // namespace trainer
