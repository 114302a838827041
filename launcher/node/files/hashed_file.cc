#include "launcher/node/files/hashed_file.h"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/sha256.h"

namespace launcher {
namespace {

constexpr std::size_t kPiece = 256 << 10;

}  // namespace

absl::StatusOr<HashedFile> HashFile(int fd, const std::atomic<bool>& gives_up,
                                    std::uint64_t limit) {
  HashedFile hashed;
  runtime::Sha256 hash;
  std::string piece(kPiece, '\0');
  while (hashed.size < limit) {
    if (gives_up) return absl::CancelledError("given up");
    const std::uint64_t room = std::min<std::uint64_t>(piece.size(), limit - hashed.size);
    const ssize_t got = pread(fd, piece.data(), room, static_cast<off_t>(hashed.size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::UnavailableError(absl::StrCat("cannot read it: ", strerror(errno)));
    if (got == 0) break;
    hash.Add(std::string_view(piece.data(), static_cast<std::size_t>(got)));
    hashed.size += static_cast<std::uint64_t>(got);
  }
  hashed.sha256 = hash.Finish();
  return hashed;
}

}  // namespace launcher
