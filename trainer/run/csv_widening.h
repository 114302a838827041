#ifndef TRAINER_RUN_CSV_WIDENING_H_
#define TRAINER_RUN_CSV_WIDENING_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace trainer {

// Appends the table in file `from` to file `to`, with another header and with `more` empty cells at
// the end of each row. The result equals, byte for byte, its rows rendered with the wider header,
// but no row is parsed. Newlines inside quotes do not end a row. Ray Tune has no equivalent: its
// CSV logger drops columns that appear later.
//
// DataLoss if the table does not begin with `old_header` (a line with its newline) or its last row
// is incomplete; ResourceExhausted if the disk is full. Blocks for the disk; reads with pread().
absl::Status CopyWidened(int from, int to, std::string_view old_header, std::string_view header,
                         std::size_t more);

}  // namespace trainer

#endif  // TRAINER_RUN_CSV_WIDENING_H_
