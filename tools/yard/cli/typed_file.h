#ifndef TOOLS_YARD_CLI_TYPED_FILE_H_
#define TOOLS_YARD_CLI_TYPED_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace yard {

// A file that was named on the command line, as a text.
struct TypedFile {
  std::string text;
  std::string name;       // Name of the file in errors: as typed, or "stdin".
  std::string directory;  // Directory in which relative paths of the text begin.
};

// Reads `file` as seen from `working_directory`; "-" is standard input. Relative paths in a file
// begin in its directory, those of standard input and of a pipe in `working_directory`. The text
// has `most` + 1 bytes at most, so that a caller with a limit notices a longer file. Blocks.
// NotFound and the like name the path.
absl::StatusOr<TypedFile> ReadTypedFile(const std::string& file,
                                        const std::string& working_directory, std::size_t most);

}  // namespace yard

#endif  // TOOLS_YARD_CLI_TYPED_FILE_H_
