#ifndef LAUNCHER_TESTING_OUTPUT_PRINT_LINES_H_
#define LAUNCHER_TESTING_OUTPUT_PRINT_LINES_H_

#include <string_view>

namespace launcher::testing {

// Writes whole lines to a descriptor; those of one call stay together, whatever other threads print
// through this. Text that stdio still has in its buffer comes later. Waits for a reader that is
// slow, at most 10 s for each piece that it takes: then the rest is dropped.
void PrintLines(int fd, std::string_view lines);

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_OUTPUT_PRINT_LINES_H_
