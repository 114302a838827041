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

// All dependencies of a verb: tests pass strings and fakes, main() passes the real ones.
struct Context {
  std::ostream* out = nullptr;  // Stream for data.
  std::ostream* err = nullptr;  // Stream for everything else.
  int in = 0;                   // File descriptor of stdin. Not owned.
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool color = false;  // Decided from --color, NO_COLOR, TERM and the terminal.
  int width = 80;      // Size of the terminal in columns and rows.
  int height = 24;
  bool json = false;  // --json
  bool utc = false;   // --utc
  // Time zone of times that people read and type.
  absl::TimeZone zone() const { return utc ? absl::UTCTimeZone() : absl::LocalTimeZone(); }
  // Width of tables on `out` in columns; 0 for unlimited.
  int out_width() const { return out_is_terminal ? width : 0; }

  std::vector<std::string> rest;         // Words after "--".
  std::vector<std::string> environment;  // "NAME=value"
  std::string working_directory;
  runtime::Locations locations;
  runtime::Clock* clock = runtime::Clock::Real();
  Interrupt* interrupt = nullptr;

  // The process's bus node and client, created at first use, so verbs without calls do not pay for
  // them.
  std::function<absl::StatusOr<bus::Node*>()> node;
  std::function<absl::StatusOr<bus::Client*>()> client;
};

}  // namespace yard

#endif  // TOOLS_YARD_CLI_CONTEXT_H_
