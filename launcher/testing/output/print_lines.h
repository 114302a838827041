#ifndef LAUNCHER_TESTING_OUTPUT_PRINT_LINES_H_
#define LAUNCHER_TESTING_OUTPUT_PRINT_LINES_H_

#include <string_view>

namespace launcher::testing {

// Writes whole lines to a descriptor. The lines of one call stay together, whatever other threads
// write by this function. Text that is still in a stdio buffer is written later. Blocks on a slow
// reader, at most 10 s for each piece that it accepts; after that it drops the rest.
void PrintLines(int fd, std::string_view lines);

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_OUTPUT_PRINT_LINES_H_
