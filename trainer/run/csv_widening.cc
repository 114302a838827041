#include "trainer/run/csv_widening.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "runtime/file/file.h"

namespace trainer {
namespace {

constexpr std::size_t kChunk = 256 << 10;

// Fills `buffer` from `offset`; shrinks it at the end of the file.
absl::Status ReadAt(int fd, std::string& buffer, off_t offset) {
  std::size_t size = 0;
  while (size < buffer.size()) {
    const ssize_t count =
        pread(fd, buffer.data() + size, buffer.size() - size, offset + static_cast<off_t>(size));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return absl::InternalError(absl::StrCat("cannot read: ", strerror(errno)));
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  buffer.resize(size);
  return absl::OkStatus();
}

}  // namespace

absl::Status CopyWidened(int from, int to, std::string_view old_header, std::string_view header,
                         std::size_t more) {
  std::string chunk(old_header.size(), '\0');
  if (auto status = ReadAt(from, chunk, 0); !status.ok()) return status;
  if (chunk != old_header) return absl::DataLossError("the table has another header");
  if (auto status = runtime::WriteAll(to, header); !status.ok()) return status;
  const std::string cells(more, ',');
  bool in_quotes = false, row_has_ended = true;
  for (auto offset = static_cast<off_t>(old_header.size());;) {
    chunk.resize(kChunk);
    if (auto status = ReadAt(from, chunk, offset); !status.ok()) return status;
    if (chunk.empty()) break;
    offset += static_cast<off_t>(chunk.size());
    std::string wide;
    wide.reserve(chunk.size() * 2);
    for (const char c : chunk) {
      if (c == '"') in_quotes = !in_quotes;
      row_has_ended = c == '\n' && !in_quotes;
      if (row_has_ended) wide += cells;
      wide += c;
    }
    if (auto status = runtime::WriteAll(to, wide); !status.ok()) return status;
  }
  if (!row_has_ended) return absl::DataLossError("the last row of the table is torn");
  return absl::OkStatus();
}

}  // namespace trainer
