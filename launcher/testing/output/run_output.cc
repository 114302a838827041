#include "launcher/testing/output/run_output.h"

#include <unistd.h>

#include <utility>

#include "launcher/testing/output/print_lines.h"

namespace launcher::testing {

void RunOutput::Write(bool is_stderr, std::string_view lines) {
  if (options_.stream_output) {
    PrintLines(is_stderr ? STDERR_FILENO : STDOUT_FILENO, lines);
  }
  if (!options_.return_output) return;
  while (!lines.empty()) {
    const std::size_t size = lines.find('\n') + 1;
    if (kept_bytes_ + size > options_.return_output_limit) {
      ++kept_.lines_dropped;
    } else {
      kept_bytes_ += size;
      kept_.lines.emplace_back(lines.substr(0, size));
    }
    lines.remove_prefix(size);
  }
}

void RunOutput::AddNote(const std::string& note) {
  kept_.notes.push_back(note);
  if (options_.stream_output) PrintLines(STDERR_FILENO, note + "\n");
}

void RunOutput::MoveTo(RunResult* result) {
  result->lines = std::exchange(kept_.lines, {});
  result->notes = std::exchange(kept_.notes, {});
  result->lines_dropped = std::exchange(kept_.lines_dropped, 0);
  kept_bytes_ = 0;
}

}  // namespace launcher::testing
