#ifndef RUNTIME_FILE_ROTATED_FILE_H_
#define RUNTIME_FILE_ROTATED_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/file/unique_fd.h"

namespace runtime {

// A file of lines that is rotated when it is full, so that a log cannot fill the disk: PATH is
// being written, PATH.1 is the one before it, and so on to PATH.KEPT. A full file is renamed and
// the new one opened before anything more is written, so no line is lost or split between two
// files.
//
// The caller must serialise calls. Blocks like any write to a file.
class RotatedFile {
 public:
  struct Options {
    std::string path;
    std::uint64_t limit = 0;  // In bytes, at least 1. Only a single larger write exceeds it.
    int kept = 0;             // Number of full files that are kept.
    // Descriptors of the file, such as stdout and stderr, which are redirected at each rotation.
    // Empty: the RotatedFile opens the file itself.
    std::vector<int> descriptors = {};
  };
  // Appends to an existing file; creates a missing one with mode 0600. Each error names the path.
  static absl::StatusOr<std::unique_ptr<RotatedFile>> Open(Options options);

  // Writes whole lines; rotates first if they do not fit. Re-creates a file that another program
  // has moved or deleted. If a new file cannot be created, the old one grows beyond the limit.
  void Append(std::string_view lines);
  // Rotates a full file, for data that others have written to the descriptors.
  void Look();

 private:
  explicit RotatedFile(Options options) : options_(std::move(options)) {}
  int fd() const { return options_.descriptors.empty() ? own_.get() : options_.descriptors[0]; }
  bool IsElsewhere() const;
  absl::Status Begin();
  void BeginNext();
  void Retire() const;

  const Options options_;
  UniqueFd own_;
};

// True if `fd` is open on the file at `path`.
bool IsOpenOn(int fd, const std::string& path);

}  // namespace runtime

#endif  // RUNTIME_FILE_ROTATED_FILE_H_
