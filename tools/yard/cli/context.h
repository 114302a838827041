#ifndef TOOLS_YARD_CLI_CONTEXT_H_
#define TOOLS_YARD_CLI_CONTEXT_H_

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/call/client.h"
#include "bus/thread/node.h"
#include "runtime/clock.h"
#include "runtime/file/locations.h"
#include "tools/yard/cli/interrupt.h"

namespace yard {

// Everything that a verb may touch: tests give it strings and fakes, main() the real things.
struct Context {
  std::ostream* out = nullptr;  // Data.
  std::ostream* err = nullptr;  // Everything else.
  int in = 0;                   // A descriptor: stdin. Not owned.
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool color = false;  // Decided from --color, NO_COLOR, TERM and the terminal.
  int width = 80;      // Size of the terminal, in columns and rows.
  int height = 24;
  bool json = false;  // --json
  bool utc = false;   // --utc
  // Time zone of the times that people read and type.
  absl::TimeZone zone() const { return utc ? absl::UTCTimeZone() : absl::LocalTimeZone(); }
  // Columns that a table on `out` has; 0: any number.
  int out_width() const { return out_is_terminal ? width : 0; }

  std::vector<std::string> rest;         // The words after "--".
  std::vector<std::string> environment;  // "NAME=value"
  std::string working_directory;
  runtime::Locations locations;
  runtime::Clock* clock = runtime::Clock::Real();
  Interrupt* interrupt = nullptr;

  // The process's place on the bus, made at first use: a verb that calls nobody pays nothing.
  std::function<absl::StatusOr<bus::Node*>()> node;
  std::function<absl::StatusOr<bus::Client*>()> client;
};

}  // namespace yard

#endif  // TOOLS_YARD_CLI_CONTEXT_H_
