#ifndef RUNTIME_QUERY_QUERY_ERROR_H_
#define RUNTIME_QUERY_QUERY_ERROR_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace runtime {

// Where and why a query is wrong, for whoever wrote it: InvalidArgument of three lines.
//
//   query, column 6: expected a number behind <
//     loss< & label:base
//         ^
//
// `kind` is the name of the text in the message, "query"; `offset` is a byte of `text`, or its end.
// Columns are characters, from 1. A long query is cut to the part around the column; anything but a
// printable character, there or in the message, is shown as "?".
absl::Status QueryError(std::string_view kind, std::string_view text, std::size_t offset,
                        std::string_view message);

// `word` in quotes for such a message: one line, not long.
std::string QuotedWord(std::string_view word);

}  // namespace runtime

#endif  // RUNTIME_QUERY_QUERY_ERROR_H_
