#include "trainer/checkpoint/checkpoint_object.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "eventlog/crc32c.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "runtime/text/string_view.h"
#include "trainer/checkpoint/checkpoint_directory.h"
#include "trainer/checkpoint/file_tree.h"

namespace trainer {
namespace {

constexpr std::string_view kMagic = "YARDCKP1";
constexpr std::size_t kCrcSize = sizeof(std::uint32_t);

template <typename Number>
void AppendNumber(Number number, std::string* out) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    out->push_back(static_cast<char>((number >> (8 * i)) & 0xFF));
  }
}

void AppendName(std::string_view name, std::string* out) {
  AppendNumber(static_cast<std::uint32_t>(name.size()), out);
  out->append(name);
}

// Reads values one after the other from the front; returns false when too few bytes are left.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : rest_(bytes) {}
  bool empty() const { return rest_.empty(); }

  template <typename Number>
  bool Take(Number* number) {
    if (rest_.size() < sizeof(Number)) return false;
    *number = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i) {
      *number |= static_cast<Number>(static_cast<unsigned char>(rest_[i])) << (8 * i);
    }
    rest_.remove_prefix(sizeof(Number));
    return true;
  }
  template <typename Size>
  bool TakeText(std::string_view* text) {
    Size size = 0;
    if (!Take(&size) || size > rest_.size()) return false;
    *text = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(static_cast<std::size_t>(size));
    return true;
  }

 private:
  std::string_view rest_;
};

absl::Status DamagedObject(std::string_view how) {
  return absl::DataLossError(
      absl::StrCat("the object of a checkpoint is damaged: ", runtime::Absl(how)));
}

absl::Status TooLarge(const std::string& directory, std::size_t limit) {
  return absl::ResourceExhaustedError(
      absl::StrCat(directory, " is larger than ", limit, " bytes: move it by its path instead"));
}

absl::Status WriteOne(const std::string& directory, std::string_view name,
                      std::string_view content) {
  const std::string path = absl::StrCat(directory, "/", runtime::Absl(name));
  auto status = runtime::MakeDirectories(path.substr(0, path.find_last_of('/')),
                                         runtime::FileMode::OfDirectoryIn(directory));
  if (!status.ok()) return status;
  // Writes into a directory that is not committed yet, directly under the final name, which may be
  // of the greatest length. (.is_checkpoint exists already.)
  const runtime::UniqueFd file = runtime::OpenOrMake(path, O_WRONLY | O_TRUNC | O_NOFOLLOW,
                                                     runtime::FileMode::OfFileIn(directory));
  if (!file.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("making ", path));
  return runtime::WriteAll(file.get(), content);
}

// Unpacks the files of an object into the directory `target`.
absl::Status Unpack(Unpacker& from, const std::string& target) {
  std::uint32_t files = 0;
  if (!from.Take(&files) || files > kMaxTreeEntries) return DamagedObject("too many files");
  std::set<std::string_view> names;
  for (std::uint32_t i = 0; i < files; ++i) {
    std::string_view name, content;
    if (!from.TakeText<std::uint32_t>(&name) || !from.TakeText<std::uint64_t>(&content)) {
      return DamagedObject("it ends inside a file");
    }
    if (auto status = CheckTreeName(name); !status.ok()) return status;
    if (name == kTemporaryMarker || !names.insert(name).second) {
      return DamagedObject("a file is there that cannot be");
    }
    if (auto status = WriteOne(target, name, content); !status.ok()) return status;
  }
  return from.empty() ? absl::OkStatus() : DamagedObject("it goes on behind its end");
}

}  // namespace

absl::StatusOr<std::string> CheckpointToObject(const std::string& path, std::size_t limit) {
  auto directory = FindCheckpointDirectory(path);
  if (!directory.ok()) return directory.status();
  const absl::Status verified = VerifyCheckpoint(*directory);
  if (!verified.ok() && !absl::IsNotFound(verified)) return verified;
  std::string object(kMagic);
  std::string_view below = std::string_view(path).substr(directory->size());
  while (!below.empty() && below.front() == '/') below.remove_prefix(1);
  while (!below.empty() && below.back() == '/') below.remove_suffix(1);
  AppendName(below, &object);
  std::string files;
  std::uint32_t count = 0;
  auto status = WalkTree(*directory, [&](const TreeFile& file) -> absl::Status {
    if (file.name == kTemporaryMarker) return absl::OkStatus();
    if (file.size > limit || files.size() + file.name.size() + file.size > limit) {
      return TooLarge(*directory, limit);
    }
    ++count;
    AppendName(file.name, &files);
    AppendNumber(file.size, &files);
    return ReadPieces(file, [&](std::string_view piece) {
      files.append(piece);
      return absl::OkStatus();
    });
  });
  if (!status.ok()) return status;
  AppendNumber(count, &object);
  object += files;
  AppendNumber(eventlog::Crc32c(object), &object);
  if (object.size() > limit) return TooLarge(*directory, limit);
  return object;
}

absl::StatusOr<std::string> CheckpointFromObject(std::string_view object,
                                                 const std::string& run_directory) {
  if (object.size() < kMagic.size() + kCrcSize || object.substr(0, kMagic.size()) != kMagic) {
    return DamagedObject("it does not begin like one");
  }
  const std::string_view covered = object.substr(0, object.size() - kCrcSize);
  std::uint32_t crc = 0;
  Unpacker(object.substr(covered.size())).Take(&crc);
  if (crc != eventlog::Crc32c(covered)) return DamagedObject("its checksum is wrong");
  Unpacker from(covered.substr(kMagic.size()));
  std::string_view below;
  if (!from.TakeText<std::uint32_t>(&below)) return DamagedObject("it ends inside its name");
  if (!below.empty()) {
    if (auto status = CheckTreeName(below); !status.ok()) return status;
  }
  auto target = MakeTemporaryCheckpoint(run_directory);
  if (!target.ok()) return target.status();
  std::string path = *target;
  if (!below.empty()) absl::StrAppend(&path, "/", runtime::Absl(below));
  auto status = Unpack(from, *target);
  if (status.ok() && access(path.c_str(), F_OK) != 0) status = DamagedObject("its path is missing");
  if (status.ok()) return path;
  status.Update(RemoveCheckpoint(*target));
  return status;
}

}  // namespace trainer
