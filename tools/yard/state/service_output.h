#ifndef TOOLS_YARD_STATE_SERVICE_OUTPUT_H_
#define TOOLS_YARD_STATE_SERVICE_OUTPUT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/file/locations.h"

namespace yard {

// The stdout and stderr of a service that the yard has started: STATE/log/SERVICE.out, to which
// each start appends. It holds the errors of a start and of an end.

std::string OutputPath(const runtime::Locations& locations, std::string_view service);
// Returns the path of the database that a service reads after a restart. Not every service has one.
std::string DatabaseOf(const runtime::Locations& locations, std::string_view service);
// Returns the current size of the output, where later output will begin; 0 if it does not exist.
std::uint64_t OutputEnd(const runtime::Locations& locations, std::string_view service);

struct LastWords {
  // Why the service ended: its last line that begins with its name. Empty if it printed no such
  // line, or was ready afterwards.
  std::string cause;
  std::size_t times = 0;  // How often it printed a cause since it was ready.
  std::string last_line;  // The last line of any kind; empty without output.
  // Returns the cause if the service printed one, else the last line.
  const std::string& text() const { return cause.empty() ? last_line : cause; }
};
// Returns the last words of the output from offset `begin` on. Each is one line, and safe for a
// terminal.
LastWords LastWordsOf(const runtime::Locations& locations, std::string_view service,
                      std::uint64_t begin = 0);
LastWords LastWordsIn(std::string_view output, std::string_view service);

// Returns a shell command to run after a service has ended for this cause; empty if none is known,
// or if the cause already names one.
std::string NextStepFor(std::string_view cause, const runtime::Locations& locations,
                        std::string_view service);
// Returns "CAUSE; next: STEP", or the cause alone.
std::string WithNextStep(const std::string& cause, const runtime::Locations& locations,
                         std::string_view service);

}  // namespace yard

#endif  // TOOLS_YARD_STATE_SERVICE_OUTPUT_H_
