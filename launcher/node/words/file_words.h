#ifndef LAUNCHER_NODE_WORDS_FILE_WORDS_H_
#define LAUNCHER_NODE_WORDS_FILE_WORDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launcher {

// The words of a launcher and a node about files of a run directory that only one of them sees.
// Each is a Record in a frame of its own, beside those of node_words.h. Paths are relative to the
// run directory.

inline constexpr std::size_t kMaxFilePiece = 512 << 10;
inline constexpr std::size_t kMaxRunPath = 4096;
inline constexpr int kMaxRunPathDepth = 32;
inline constexpr std::size_t kMaxTreeFiles = 65'536;  // Files and directories of one tree.
inline constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 40;
// Bytes of a FileList.
inline constexpr std::size_t kMaxFileList = 32 << 20;

// A relative path without "..", "." and empty names, of at most kMaxRunPath bytes and
// kMaxRunPathDepth names.
bool IsRunPath(std::string_view path);

// A part of a file of the node, for the launcher to write. The launcher answers each with a
// FileAnswer; the node sends it again until then.
struct FilePart {
  enum class Kind {
    kTree,       // A file of a directory that is being copied.
    kDirectory,  // A directory of it.
    kEnd,        // The whole directory `path` has been sent: what else is in it is removed.
    kWhole,      // A file that takes the place of the one with its name once it is whole.
    kAppend,     // Bytes of a file that only grows.
  };
  std::string attempt = {};
  Kind kind = Kind::kTree;
  std::uint64_t transfer = 0;  // The parts of one directory have one number, never used again.
  std::string path = {};
  std::uint64_t count = 0;  // kEnd: files and directories that were sent.
  // The next fields are for a file.
  std::uint64_t size = 0;
  // kAppend: of the first `offset` bytes, where the launcher has to know that they are its own; or
  // empty.
  std::string sha256 = {};
  std::string like = {};  // A file of the run that may have the same content; empty: none.
  std::uint64_t offset = 0;
  std::string bytes = {};  // None: asks how much is there. At most kMaxFilePiece.

  bool operator==(const FilePart&) const = default;
  std::string Encode() const;
  static std::optional<FilePart> Decode(std::string_view bytes);
};

struct FileAnswer {
  enum class Kind {
    kHas,     // `offset` bytes are there; `is_whole`: all of them, with the right hash.
    kLater,   // There is no room now; try again.
    kGone,    // The directory is not there: its checkpoint was committed before, or given up.
    kAgain,   // The launcher does not know what was sent of this directory: send it from its start.
    kFailed,  // `error` says why. It stays so.
  };
  std::string attempt = {};
  Kind kind = Kind::kHas;
  std::uint64_t transfer = 0;
  std::string path = {};
  std::uint64_t offset = 0;
  bool is_whole = false;
  std::string error = {};

  bool operator==(const FileAnswer&) const = default;
  std::string Encode() const;
  static std::optional<FileAnswer> Decode(std::string_view bytes);
};

// The files of the checkpoint that an attempt starts from. The node asks with
// NodeWant::checkpoint, and the launcher answers with the hash of this list; the list and the files
// then come as archives do, each by its hash.
struct FileList {
  struct File {
    std::string path = {};
    std::uint64_t size = 0;
    std::string sha256 = {};
    bool operator==(const File&) const = default;
  };
  std::vector<std::string> directories = {};  // Each before what is in it.
  std::vector<File> files = {};

  bool operator==(const FileList&) const = default;
  std::string Encode() const;
  static std::optional<FileList> Decode(std::string_view bytes);
};

// The launcher's answer to a question for the list.
struct FileListAnswer {
  std::string attempt = {};
  std::string checkpoint = {};
  std::string sha256 = {};  // The hash of the FileList; empty after an error.
  std::uint64_t bytes = 0;
  std::string error = {};  // Why the launcher cannot give the list.

  bool operator==(const FileListAnswer&) const = default;
  std::string Encode() const;
  static std::optional<FileListAnswer> Decode(std::string_view bytes);
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_WORDS_FILE_WORDS_H_
