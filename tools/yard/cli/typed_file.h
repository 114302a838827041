#ifndef TOOLS_YARD_CLI_TYPED_FILE_H_
#define TOOLS_YARD_CLI_TYPED_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace yard {

// The text of a file named on the command line.
struct TypedFile {
  std::string text;
  std::string name;       // Name of the file in errors: as typed, or "stdin".
  std::string directory;  // Directory for relative paths in the text.
};

// Reads `file`, resolved from `working_directory`; "-" is standard input. Relative paths in a file
// are resolved from the file's directory, those in standard input and pipes from
// `working_directory`. Returns at most `most` + 1 bytes, so that a caller with a limit notices a
// longer file. Blocks. Errors such as NotFound name the path.
absl::StatusOr<TypedFile> ReadTypedFile(const std::string& file,
                                        const std::string& working_directory, std::size_t most);

}  // namespace yard

#endif  // TOOLS_YARD_CLI_TYPED_FILE_H_
