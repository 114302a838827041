#include "tools/yard/follow/program_output.h"

#include <utility>

#include "tools/yard/at/captured.h"

namespace yard {

ProgramOutput ReadProgram(const std::vector<std::string>& argv, const std::string& directory,
                          const std::vector<std::string>& environment, std::size_t limit,
                          absl::Duration deadline) {
  auto captured = Capture(argv, {.environment = environment,
                                 .working_directory = directory,
                                 .shows_stderr = false,
                                 .new_session = true,
                                 .limit = limit,
                                 .ends_at_limit = true,
                                 .timeout = deadline});
  if (!captured.ok() || (captured->code != 0 && !captured->is_cut)) return {};
  return {.ok = true, .is_cut = captured->is_cut, .text = std::move(captured->text)};
}

}  // namespace yard
