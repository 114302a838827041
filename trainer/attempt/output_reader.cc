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

// True if all characters are spaces, which is how programs clear a bar.
bool IsBlank(std::string_view text) { return text.find_first_not_of(' ') == text.npos; }

}  // namespace

OutputReader::OutputReader(Options options)
    : options_(std::move(options)), offset_(options_.offset), seen_(options_.offset), want_(kRead) {
  if (options_.format.reads_bars()) last_state_ = StateBefore();
  LookAfter(options_.interval);
}

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
  timer_.Start(options_.loop, delay, [this] { Look(); });
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
  // If no line ended within the bytes read, reads more at once, up to the longest line.
  const bool is_stuck = !is_all && offset_ == before;
  want_ = is_stuck ? std::min(4 * want_, kLongestLine + 1) : kRead;
  LookAfter(is_all && done_ == nullptr ? options_.interval : absl::ZeroDuration());
}

bool OutputReader::TakeFrom(std::string_view bytes, bool is_last) {
  std::vector<Line> lines;
  std::size_t begin = 0;
  bool in_long_line = in_long_line_;
  std::optional<State> state;  // A later state may overwrite it.
  BarState last_state = last_state_;
  for (LineEnd line; (line = EndOf(bytes, begin, is_last)).end != bytes.npos; begin = line.next) {
    if (in_long_line) {
      in_long_line = line.is_overwritten;
      continue;
    }
    const std::string_view text = bytes.substr(begin, line.end - begin);
    const std::int64_t end = offset_ + static_cast<std::int64_t>(line.next);
    if (line.is_overwritten && IsBlank(text)) continue;
    auto bar = text.size() > kLongestLine ? std::nullopt : options_.format.BarIn(text);
    if (state && !(bar && bar->place == state->bar.place)) AddState(*state, last_state, lines);
    state.reset();
    if (bar) {
      state = State{*std::move(bar), end, begin};
    } else if (!line.is_overwritten) {
      Add(text, end, lines);
    }
    if (state && !line.is_overwritten) {
      AddState(*state, last_state, lines);
      state.reset();
    }
  }
  const bool is_long = in_long_line || bytes.size() - begin > kLongestLine;
  if (state && (is_last || is_long)) {
    AddState(*state, last_state, lines);
  } else if (state) {
    begin = state->begin;  // The state is read again next time.
  }
  if (is_long) {
    in_long_line = true;
    begin = bytes.size();
  }
  const std::int64_t end = offset_ + static_cast<std::int64_t>(bytes.size());
  if ((end > seen_ || !lines.empty()) && !options_.take(lines)) return false;
  seen_ = end;
  offset_ += static_cast<std::int64_t>(begin);
  in_long_line_ = in_long_line;
  last_state_ = std::move(last_state);
  return true;
}

OutputReader::LineEnd OutputReader::EndOf(std::string_view bytes, std::size_t begin,
                                          bool is_last) const {
  const bool reads_bars = options_.format.reads_bars();
  const std::size_t end = reads_bars ? bytes.find_first_of("\r\n", begin) : bytes.find('\n', begin);
  if (end == bytes.npos) {
    const bool has_rest = is_last && begin < bytes.size();
    return {has_rest ? bytes.size() : bytes.npos, bytes.size(), false};
  }
  if (bytes[end] == '\n') return {end, end + 1, false};
  // "\r\n" is one line end, and so are several \r in a row.
  const std::size_t behind = bytes.find_first_not_of('\r', end);
  if (behind == bytes.npos) return {is_last ? end : bytes.npos, bytes.size(), !is_last};
  const bool is_newline = bytes[behind] == '\n';
  return {end, is_newline ? behind + 1 : behind, !is_newline};
}

void OutputReader::AddState(const State& state, BarState& before, std::vector<Line>& lines) {
  const bool may_repeat = state.bar.is_edge || state.bar.place == before.place;
  if (may_repeat && state.bar.metrics == before.metrics) return;
  before = state.bar;
  lines.push_back({state.end, state.bar.metrics});
}

BarState OutputReader::StateBefore() const {
  constexpr std::int64_t kLongestState = 8 << 10;
  const runtime::UniqueFd file(open(options_.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::string bytes(static_cast<std::size_t>(std::min(kLongestState, offset_)), '\0');
  const ssize_t count = !file.valid() ? 0
                                      : pread(file.get(), bytes.data(), bytes.size(),
                                              offset_ - static_cast<std::int64_t>(bytes.size()));
  if (count != static_cast<ssize_t>(bytes.size())) return {};
  while (!bytes.empty() && (bytes.back() == '\r' || bytes.back() == '\n')) bytes.pop_back();
  return options_.format.BarIn(bytes.substr(bytes.find_last_of("\r\n") + 1)).value_or(BarState());
}

void OutputReader::Add(std::string_view line, std::int64_t end, std::vector<Line>& lines) const {
  if (line.size() > kLongestLine) return;
  if (auto metrics = options_.format.MetricsIn(line)) lines.push_back({end, *std::move(metrics)});
}

}  // namespace trainer
