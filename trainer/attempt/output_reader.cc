#include "trainer/attempt/output_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "runtime/file/unique_fd.h"

namespace trainer {
namespace {

constexpr std::size_t kRead = 256 << 10;
constexpr std::size_t kLongestLine = 1 << 20;
constexpr absl::Duration kAgain = absl::Seconds(1);

}  // namespace

OutputReader::OutputReader(Options options)
    : options_(std::move(options)), offset_(options_.offset), seen_(options_.offset), want_(kRead) {
  LookAfter(options_.interval);
}

OutputReader::~OutputReader() { options_.loop->Cancel(timer_); }

void OutputReader::Finish(std::function<void(bool took_all)> done) {
  done_ = std::move(done);
  LookAfter(absl::ZeroDuration());
}

void OutputReader::GiveUp() {
  gives_up_ = true;
  if (done_ != nullptr) LookAfter(absl::ZeroDuration());
}

void OutputReader::End(bool took_all) {
  const auto done = std::exchange(done_, nullptr);
  done(took_all);
}

void OutputReader::LookAfter(absl::Duration delay) {
  options_.loop->Cancel(timer_);
  timer_ = options_.loop->RunAfter(delay, [this] {
    timer_ = 0;
    Look();
  });
}

std::string OutputReader::Read() const {
  const runtime::UniqueFd file(open(options_.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about {};
  if (!file.valid() || fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return "";
  if (about.st_size <= offset_) return "";
  std::string bytes(std::min<std::size_t>(want_, static_cast<std::size_t>(about.st_size - offset_)),
                    '\0');
  const ssize_t count = pread(file.get(), bytes.data(), bytes.size(), offset_);
  bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return bytes;
}

void OutputReader::Look() {
  const std::string bytes = Read();
  const bool is_all = bytes.size() < want_;
  const bool is_last = is_all && done_ != nullptr;
  const std::int64_t before = offset_;
  if (!bytes.empty() && !TakeFrom(bytes, is_last)) {
    return done_ != nullptr && gives_up_ ? End(false) : LookAfter(kAgain);
  }
  if (is_last) return End(true);
  // A line that is longer than what was read: more at once, up to the longest.
  const bool is_stuck = !is_all && offset_ == before;
  want_ = is_stuck ? std::min(4 * want_, kLongestLine + 1) : kRead;
  LookAfter(is_all && done_ == nullptr ? options_.interval : absl::ZeroDuration());
}

bool OutputReader::TakeFrom(std::string_view bytes, bool is_last) {
  std::vector<Line> lines;
  std::size_t begin = 0;
  bool in_long_line = in_long_line_;
  for (std::size_t newline; (newline = bytes.find('\n', begin)) != bytes.npos;
       begin = newline + 1) {
    if (std::exchange(in_long_line, false)) continue;
    Add(bytes.substr(begin, newline - begin), offset_ + static_cast<std::int64_t>(newline) + 1,
        lines);
  }
  if (in_long_line || bytes.size() - begin > kLongestLine) {
    in_long_line = true;
    begin = bytes.size();
  } else if (is_last && begin < bytes.size()) {
    Add(bytes.substr(begin), offset_ + static_cast<std::int64_t>(bytes.size()), lines);
    begin = bytes.size();
  }
  const std::int64_t end = offset_ + static_cast<std::int64_t>(bytes.size());
  if ((end > seen_ || !lines.empty()) && !options_.take(lines)) return false;
  seen_ = end;
  offset_ += static_cast<std::int64_t>(begin);
  in_long_line_ = in_long_line;
  return true;
}

void OutputReader::Add(std::string_view line, std::int64_t end, std::vector<Line>& lines) const {
  if (line.size() > kLongestLine) return;
  if (auto metrics = options_.format.MetricsIn(line)) lines.push_back({end, *std::move(metrics)});
}

}  // namespace trainer
