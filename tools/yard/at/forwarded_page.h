#ifndef TOOLS_YARD_AT_FORWARDED_PAGE_H_
#define TOOLS_YARD_AT_FORWARDED_PAGE_H_

#include <string>
#include <string_view>
#include <vector>

#include "tools/yard/at/ssh_connection.h"
#include "tools/yard/cli/interrupt.h"

namespace yard {

// Returns true for `ui` and `tensorboard`, which show an address, unless `words` ask for help.
bool ShowsAddress(const std::vector<std::string>& words);

// Splits "http://127.0.0.1:7710/run/a#k=x" into its parts. All are empty if it is no such address
// or has characters that no yard generates: it comes from another machine, and goes into a file
// that a browser opens.
struct HttpAddress {
  std::string host, port;
  std::string path;  // Including its "/".
};
HttpAddress ParseHttpAddress(std::string_view text);

// Runs the verb there and forwards the port of the address that it prints, by ssh, to 127.0.0.1: to
// the same port if it is free. Prints the local address, and opens it as `yard ui` does. Blocks
// until Ctrl-C, then returns 130. Reopens a broken connection for as long as it takes, with the
// same port. The page needs its key here too.
int ForwardPage(const SshConnection::Options& options, const std::vector<std::string>& words,
                Interrupt* interrupt);

}  // namespace yard

#endif  // TOOLS_YARD_AT_FORWARDED_PAGE_H_
