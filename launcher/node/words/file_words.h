#ifndef LAUNCHER_NODE_WORDS_FILE_WORDS_H_
#define LAUNCHER_NODE_WORDS_FILE_WORDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launcher {

// The messages between a launcher and a node about files of a run directory that only one of them
// sees. Each is a Record in its own frame, like those of node_words.h. Paths are relative to the
// run directory.

inline constexpr std::size_t kMaxFilePiece = 512 << 10;
inline constexpr std::size_t kMaxRunPath = 4096;
inline constexpr int kMaxRunPathDepth = 32;
inline constexpr std::size_t kMaxTreeFiles = 65'536;  // Files and directories of one tree.
inline constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 40;
// Maximum size of an encoded FileList in bytes.
inline constexpr std::size_t kMaxFileList = 32 << 20;

// True for a relative path without "..", "." and empty names, of at most kMaxRunPath bytes and
// kMaxRunPathDepth names.
bool IsRunPath(std::string_view path);

// A part of a file on the node, for the launcher to write. The launcher answers each with a
// FileAnswer; the node resends it until then.
struct FilePart {
  enum class Kind {
    kTree,       // A file in a directory that is being copied.
    kDirectory,  // A directory in that directory.
    kEnd,        // The directory `path` is complete: the launcher removes all else in it.
    kWhole,      // A file that replaces the one with its name once it is complete.
    kAppend,     // Bytes of a file that only grows.
  };
  std::string attempt = {};
  Kind kind = Kind::kTree;
  std::uint64_t transfer = 0;  // The number of the transfer of one directory; never reused.
  std::string path = {};
  std::uint64_t count = 0;  // kEnd: files and directories that were sent.
  // The next fields are for a file.
  std::uint64_t size = 0;
  // Hash of the file. For kAppend: of the first `offset` bytes, if the launcher must check that its
  // own file begins with them; else empty.
  std::string sha256 = {};
  // A file of the run that may have the same content; empty if there is no such file.
  std::string like = {};
  std::uint64_t offset = 0;
  // At most kMaxFilePiece; if empty, the part asks how many bytes the launcher has.
  std::string bytes = {};

  bool operator==(const FilePart&) const = default;
  std::string Encode() const;
  static std::optional<FilePart> Decode(std::string_view bytes);
};

// The launcher's answer to a FilePart.
struct FileAnswer {
  enum class Kind {
    kHas,     // The launcher has `offset` bytes; with `is_whole`, all, with the right hash.
    kLater,   // The launcher has no room now; try again later.
    kGone,    // The directory does not exist: its checkpoint was committed or given up before.
    kAgain,   // The launcher does not know this transfer: send the directory from its start.
    kFailed,  // A permanent failure; `error` says why.
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

// The files of the checkpoint that an attempt starts from. The node requests it with
// NodeWant::checkpoint, and the launcher answers with the hash of this list; the list and the files
// are then transferred like archives, each by its hash.
struct FileList {
  struct File {
    std::string path = {};
    std::uint64_t size = 0;
    std::string sha256 = {};
    bool operator==(const File&) const = default;
  };
  std::vector<std::string> directories = {};  // Each directory precedes its subdirectories.
  std::vector<File> files = {};

  bool operator==(const FileList&) const = default;
  std::string Encode() const;
  static std::optional<FileList> Decode(std::string_view bytes);
};

// The launcher's answer to a request for the list.
struct FileListAnswer {
  std::string attempt = {};
  std::string checkpoint = {};
  std::string sha256 = {};  // The hash of the FileList; empty after an error.
  std::uint64_t bytes = 0;
  std::string error = {};  // Why the launcher cannot provide the list.

  bool operator==(const FileListAnswer&) const = default;
  std::string Encode() const;
  static std::optional<FileListAnswer> Decode(std::string_view bytes);
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_WORDS_FILE_WORDS_H_
