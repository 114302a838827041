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

// A file of lines that is followed by a new one when it is full, so that a log cannot fill the
// disk: PATH is written to, PATH.1 was before it, and so on to PATH.KEPT. A full file is renamed
// and the new one opened before anything more is written, so no line is lost, or torn, between two
// files.
//
// The caller lets one thread at a time in. Blocks as writing a file does.
class RotatedFile {
 public:
  struct Options {
    std::string path;
    std::uint64_t limit = 0;  // Bytes, at least 1. Only a piece that is larger itself exceeds it.
    int kept = 0;             // Full files beside the one that is written to.
    // Descriptors that are the file, such as stdout and stderr: they become the next one. Empty:
    // the RotatedFile opens one of its own.
    std::vector<int> descriptors = {};
  };
  // Goes on where the file ends, makes it (0600) if it is missing. Each error names the path.
  static absl::StatusOr<std::unique_ptr<RotatedFile>> Open(Options options);

  // Writes whole lines, to the next file if this one has no room for them. A file that somebody has
  // moved away or deleted is made anew. If a new one cannot be made, the old one grows.
  void Append(std::string_view lines);
  // The same for what others write to the descriptors: begins the next file if this one is full.
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
