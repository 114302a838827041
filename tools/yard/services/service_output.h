#ifndef TOOLS_YARD_SERVICES_SERVICE_OUTPUT_H_
#define TOOLS_YARD_SERVICES_SERVICE_OUTPUT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/file/locations.h"

namespace yard {

// The output of a service that the yard has started, before it is there or when it goes: in
// STATE/log/SERVICE.out, to which each start of the service appends.

std::string OutputPath(const runtime::Locations& locations, std::string_view service);
// Path of the database that a service reads after a restart. Not every service has one.
std::string DatabaseOf(const runtime::Locations& locations, std::string_view service);
// Where what is said from now on begins; 0 if nothing was said yet.
std::uint64_t OutputEnd(const runtime::Locations& locations, std::string_view service);

struct LastWords {
  // Why it ended: what it said with its name before it. Empty if it said nothing of the kind, or
  // was ready afterwards.
  std::string cause;
  std::size_t times = 0;  // How often the service named a cause.
  std::string last_line;  // The last line, whatever it is; empty without output.
  // The cause if the service named one, else the last line.
  const std::string& text() const { return cause.empty() ? last_line : cause; }
};
// The last words of the output from `begin` on. Harmless for a terminal, each one line.
LastWords LastWordsOf(const runtime::Locations& locations, std::string_view service,
                      std::uint64_t begin = 0);
LastWords LastWordsIn(std::string_view output, std::string_view service);

// A command that can be pasted, for where a service has ended for that cause; empty if none is
// known, or the cause has one.
std::string NextStepFor(std::string_view cause, const runtime::Locations& locations,
                        std::string_view service);
// "CAUSE; next: STEP", or the cause alone.
std::string WithNextStep(const std::string& cause, const runtime::Locations& locations,
                         std::string_view service);

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_SERVICE_OUTPUT_H_
