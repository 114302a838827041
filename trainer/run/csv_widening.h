#ifndef TRAINER_RUN_CSV_WIDENING_H_
#define TRAINER_RUN_CSV_WIDENING_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace trainer {

// Appends to the file `to` what the table in the file `from` becomes with another header and
// `more` empty cells at the end of each row. Byte for byte what rendering its rows with the wider
// header gives, without parsing one of them. Line ends inside quotes are no ends of rows. Ray Tune
// has nothing like it: its CSV logger drops columns that come later.
//
// DataLoss if the table does not begin with `old_header` (a line with its end) or its last row has
// no end; ResourceExhausted if the disk is full. Blocks for the disk; reads with pread.
absl::Status CopyWidened(int from, int to, std::string_view old_header, std::string_view header,
                         std::size_t more);

}  // namespace trainer

#endif  // TRAINER_RUN_CSV_WIDENING_H_
