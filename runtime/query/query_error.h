#ifndef RUNTIME_QUERY_QUERY_ERROR_H_
#define RUNTIME_QUERY_QUERY_ERROR_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace runtime {

// Explains to its author where and why a query is wrong: InvalidArgument with three lines.
//
//   query, column 6: expected a number behind <
//     loss< & label:base
//         ^
//
// `kind` names the text in the message ("query"); `offset` is a byte offset in `text`, or its size.
// Columns count characters from 1. A long query is cut to the part around the column; characters
// that are not printable, there or in the message, are shown as "?".
absl::Status QueryError(std::string_view kind, std::string_view text, std::size_t offset,
                        std::string_view message);

// Quotes `word` for such a message: on one line, cut to a short length.
std::string QuotedWord(std::string_view word);

}  // namespace runtime

#endif  // RUNTIME_QUERY_QUERY_ERROR_H_
