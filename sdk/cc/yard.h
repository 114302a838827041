#ifndef SDK_CC_YARD_H_
#define SDK_CC_YARD_H_

// A C++ training program includes only this file to report to the yard; there is nothing to link.
// It needs Linux, C++17 or later, and a standard library with std::from_chars for double (such as
// GCC 11's). It throws nothing but std::bad_alloc.
//
//     #include "yard.h"
//
//     yard::Reporter reporter;
//     const double rate = yard::NumberIn(reporter.config(), "lr").value_or(0.1);
//     for (int epoch = 1; epoch <= 30; ++epoch) {
//       if (!reporter.Report({{"loss", Train(rate)}}, {.step = epoch})) break;
//     }
//
// (`{.step = epoch}` needs C++20; in C++17 write `yard::ReportOptions options; options.step =
// epoch;`.) docs/report-channel.md describes the protocol.

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace yard {

namespace internal {
class LineChannel;

// A mutex that knows which thread holds it.
class OwnedMutex {
 public:
  void lock() {
    mutex_.lock();
    owner_ = std::this_thread::get_id();
  }
  void unlock() {
    owner_ = std::thread::id();
    mutex_.unlock();
  }
  bool IsMine() const { return owner_ == std::this_thread::get_id(); }

 private:
  std::mutex mutex_;
  std::atomic<std::thread::id> owner_{};
};

void AppendString(std::string_view text, std::string* out);
void AppendNumber(double value, std::string* out);
void AppendNumber(std::int64_t value, std::string* out);
}  // namespace internal

// A named value of a report: a number (NaN and infinities are allowed, and every double arrives
// exactly), a bool, a string, or nested metrics: {"eval", {{"loss", 0.1}, {"split", "test"}}}.
struct Metric {
  template <typename Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
  Metric(std::string_view metric_name, Number number) : name(metric_name) {
    if constexpr (std::is_same_v<Number, bool>) {
      json = number ? "true" : "false";
    } else if constexpr (std::is_integral_v<Number> &&
                         (std::is_signed_v<Number> || sizeof(Number) < sizeof(std::int64_t))) {
      internal::AppendNumber(static_cast<std::int64_t>(number), &json);
    } else {
      internal::AppendNumber(static_cast<double>(number), &json);
    }
  }
  template <typename Text,
            std::enable_if_t<std::is_convertible_v<const Text&, std::string_view>, int> = 0>
  Metric(std::string_view metric_name, const Text& text) : name(metric_name) {
    internal::AppendString(text, &json);
  }
  Metric(std::string_view metric_name, std::initializer_list<Metric> metrics)
      : Metric(metric_name, metrics.begin(), metrics.size()) {}
  Metric(std::string_view metric_name, const std::vector<Metric>& metrics)
      : Metric(metric_name, metrics.data(), metrics.size()) {}

  std::string name;
  std::string json;

 private:
  Metric(std::string_view metric_name, const Metric* metrics, std::size_t count);
};

struct ReportOptions {
  // The x-axis of the yard's curves. Unset: the yard counts reports.
  std::optional<std::int64_t> step = std::nullopt;
  // True for the last report.
  bool done = false;
  // A directory inside the run's directory ($YARD_LOGDIR). It becomes a checkpoint of this report,
  // whose place is Reply::path. If it is a checkpoint that was saved before, that checkpoint now
  // belongs to this report. Empty: none.
  std::string checkpoint = {};
};

// The answer to a report. True means that training continues.
struct Reply {
  enum class State {
    kContinue,
    kStop,   // Save if necessary and return from main() within `grace`.
    kError,  // This report was not stored.
  };
  State state = State::kContinue;
  // kStop: the reason, "stop" or "pause". kError: the error. Otherwise empty.
  std::string message = {};
  // Set only for kStop.
  std::chrono::duration<double> grace{0};
  // The events that were sent to this run (`yard tell`) since its last report, in order, as JSON
  // texts, which NumberIn() and TextIn() can read.
  std::vector<std::string> events = {};
  // After Save(), or a report with a checkpoint: the checkpoint's directory.
  std::string path = {};
  // After Barrier(): this task's position, from 0, in the order of arrival.
  std::int64_t index = 0;

  explicit operator bool() const { return state == State::kContinue; }
};

struct BarrierOptions {
  // The tasks that must arrive, if not all tasks of the job: names ("worker-0") and types
  // ("worker"). All of these tasks must give the same list.
  std::vector<std::string> tasks = {};
  // Zero: no timeout.
  std::chrono::duration<double> timeout{0};
};

// An image: rows from top to bottom; within a row the channels of each pixel are adjacent.
struct Image {
  int width = 0;
  int height = 0;
  int channels = 3;  // 1: gray; 2: gray and alpha; 3: red, green and blue; 4: with alpha.
  const std::uint8_t* pixels = nullptr;  // width * height * channels bytes. Not owned.
};

struct ReporterOptions {
  // `N:INODE`: descriptor N is the channel, if it is a socket with that inode. (A parent program
  // may have closed the descriptor and reused its number for another file.) Any other text counts
  // as empty.
  std::string fd = {};
  // Path of a Unix socket that is the channel if `fd` is not.
  std::string socket = {};
  // Where the program starts from if no trainer tells it (when run by hand, or in a task that is
  // not its trial's reporter): a file with the configuration, a JSON object of at most 4 MiB, and
  // the directory of a checkpoint. Empty: none.
  std::string config_file = {};
  std::string checkpoint = {};
  std::int64_t iteration = 0;  // Number of reports up to the checkpoint.
  // How long to wait for an answer; zero, which is right in a yard, means without limit: while the
  // yard's trainer restarts, the answer just takes longer, and a yard that is gone closes the
  // channel. A timeout breaks the channel, because a late answer would be taken for the answer to
  // the next report.
  std::chrono::milliseconds answer_timeout{0};
  // Where reports and log lines are printed without a yard. Not owned.
  std::FILE* out = stdout;
  // The run's directory, for images and the like. Empty: they are only printed.
  std::string run_directory = {};

  // Reads YARD_FD, YARD_SOCKET, YARD_CONFIG, YARD_CHECKPOINT, YARD_ITERATION and YARD_LOGDIR.
  static ReporterOptions FromEnvironment();
};

// The report channel of this process. Only one Reporter may exist at a time in a process, and only
// one process of a task may have one; a second one gets errors.
//
// Without a yard, and in a task that is not part of a trial, it prints what it is given and every
// reply is "continue", so that the same program can be run by hand.
//
// Any thread may call any method. Report() is in lock step: it returns once the yard has stored the
// report and decided, and a report of another thread waits for that. Log() and Heartbeat() block
// only while the socket is full. A call inside another call on the same thread (from a signal
// handler, where no call is allowed anyway) is an error, and so is a call in a forked child: the
// run belongs to its parent.
//
// Errors are replies with state kError. A line over 1 MiB, or one that the yard refuses, affects
// only itself. Any other error (the yard's end is closed or does not speak the protocol; the
// configuration cannot be read) breaks the channel: error() and every later reply say why.
class Reporter {
 public:
  // Opens the channel and says hello; waits for the welcome like Report() for its answer.
  explicit Reporter(ReporterOptions options = ReporterOptions::FromEnvironment());
  // Closes a channel opened by path; an inherited descriptor stays open.
  ~Reporter();
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  // False if nobody collects reports, so that they are printed. Also true for a broken channel.
  bool connected() const { return connected_; }
  // Returns why the channel is broken; empty if it is not.
  std::string error() const;

  // Taken from the welcome, or else from the options; constant afterwards. The run's configuration
  // as JSON text ("{}" if none), the directory of the checkpoint to start from (empty if none), and
  // the number of reports of earlier attempts up to that checkpoint.
  const std::string& config() const { return config_; }
  const std::string& checkpoint() const { return checkpoint_; }
  std::int64_t iteration() const { return iteration_; }

  // Reports one row of metrics. After a stop the program may send further reports, each of which is
  // answered with the stop again.
  Reply Report(std::initializer_list<Metric> metrics, ReportOptions options = {});
  Reply Report(const std::vector<Metric>& metrics, ReportOptions options = {});

  // Saves a checkpoint: `write` puts files into the given directory, and then the yard makes it
  // permanent, atomically and crash-safe. It is numbered `step`, or else by the number of reports.
  // kError if `write` returns false or the yard refuses; then nothing is saved. kStop if the run
  // was told to stop and has saved since. Without a yard the directory is ./checkpoint_NUMBER. It
  // may contain files and directories, but no links. In a trial that is a cluster only rank 0 may
  // save; other ranks get kError.
  Reply Save(std::optional<std::int64_t> step,
             const std::function<bool(const std::string& directory)>& write);

  // Sets values in the run's configuration; each one replaces the value of its name entirely.
  // Returns once the yard has stored them: from then on params.json, queries, comparisons and the
  // next attempt have them, while config() does not change. kError if the whole configuration would
  // exceed 512 KiB.
  Reply ConfigUpdate(std::initializer_list<Metric> values);
  Reply ConfigUpdate(const std::vector<Metric>& values);

  // Waits until all tasks of this job have reached the barrier of that name. kError after a
  // timeout, which breaks the barrier for all, or if another task broke it. Works in a task without
  // a trial too; without a yard it returns at once.
  Reply Barrier(std::string_view name, const BarrierOptions& options = {});

  // Report values that are not numbers, which the page and TensorBoard show at their step. They are
  // written to an event file in the run's directory and not answered: the reply is kContinue, or
  // kError if the file cannot be written or a value exceeds 16 MiB. A text may be Markdown. A
  // histogram ignores values that are not finite. Without a run's directory only a note about the
  // value is printed.
  Reply ReportImage(std::string_view tag, const Image& image, std::int64_t step);
  Reply ReportHistogram(std::string_view tag, const std::vector<double>& values, std::int64_t step);
  Reply ReportText(std::string_view tag, std::string_view text, std::int64_t step);

  // Sends a line to the trial's log, shown by `yard show`. Not answered: kContinue or kError.
  Reply Log(std::string_view text);
  // Tells the yard that the program is alive, if reports are far apart. Not answered.
  Reply Heartbeat();
  // Tells the yard why the program fails; it should then exit with a non-zero status. Not answered.
  // Text over 64 KiB is truncated. Without a yard the text goes to standard error.
  Reply Fail(std::string_view error);

 private:
  using Write = std::function<bool(const std::string& directory)>;

  void Open(const ReporterOptions& options);
  // Returns false if no trainer said what to start from.
  bool SayHello();
  void StartFrom(const ReporterOptions& options);
  void Break(std::string why);
  Reply ReportRow(const Metric* metrics, std::size_t count, const ReportOptions& options);
  Reply Print(const Metric* metrics, std::size_t count, const ReportOptions& options);
  Reply UpdateConfig(const Metric* values, std::size_t count);
  Reply ParseAnswer(std::string_view line, std::int64_t seq);
  // Sends a line and returns the path in an answer of that kind.
  Reply AskForPath(std::string_view line, std::string_view kind);
  Reply SaveHere(std::optional<std::int64_t> step, const Write& write);
  Reply Send(std::string_view line);
  // Writes a value, given as the fields of a Summary.Value after its tag. `what` describes it for a
  // person.
  Reply WriteValue(std::string_view tag, std::int64_t step, const std::string& fields,
                   const std::string& what);
  // Returns why this process or thread must not call now; nullopt if it may.
  std::optional<std::string> WhyNot() const;
  // Sends a line and waits for its answer. The caller holds report_mutex_. Returns nullopt, or the
  // error.
  std::optional<std::string> Ask(std::string_view line, std::chrono::milliseconds timeout,
                                 std::string* answer);

  const std::chrono::milliseconds answer_timeout_;
  std::FILE* const out_;

  const pid_t pid_ = ::getpid();
  std::uint64_t inode_ = 0;  // Inode of an inherited channel.

  // Constant after construction; the channel is thread-safe by itself.
  bool connected_ = false;
  bool in_trial_ = false;  // In a trial, but not its reporter: not rank 0 of a cluster.
  std::unique_ptr<internal::LineChannel> channel_;
  std::string open_error_;
  std::string config_ = "{}";
  std::string checkpoint_;
  std::int64_t iteration_ = 0;

  internal::OwnedMutex report_mutex_;  // Held from a report to its answer.
  std::int64_t seq_ = 0;               // Guarded by report_mutex_.

  const std::string run_directory_;
  std::mutex values_mutex_;
  std::string values_path_;  // Path of the event file; empty before the first value.
};

// Return the number (true is 1, false is 0) or the text at `path`, names joined by `/`, in a JSON
// object such as Reporter::config() or one of Reply::events; nullopt if `path` leads to no value of
// that type.
std::optional<double> NumberIn(std::string_view object, std::string_view path);
std::optional<std::string> TextIn(std::string_view object, std::string_view path);

// Everything below is implementation.

namespace internal {

// The subset of JSON that the report channel needs, for reading and writing, with only the standard
// library. As an extension, `NaN`, `Infinity` and `-Infinity` are numbers: training produces them
// and Python writes them.
//
// Reading splits one object into its members and keeps each value as JSON text, so that values
// unknown to the SDK pass through unchanged. Everything here is pure: any thread, no allocation
// beyond the results, no exceptions but std::bad_alloc.

struct Member {
  std::string name;
  std::string_view value;  // JSON text, checked; points into the text given to ParseObject().
};

inline constexpr int kMaxDepth = 64;
inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Returns the length of the well-formed UTF-8 character at the start of `text`; 0 if it is not one.
inline std::size_t CharacterLength(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xC2 && first <= 0xDF   ? 2
                             : first >= 0xE0 && first <= 0xEF ? 3
                             : first >= 0xF0 && first <= 0xF4 ? 4
                                                              : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Rejects overlong forms, surrogates, and code points beyond U+10FFFF.
  if (first == 0xE0 && byte(1) < 0xA0) return 0;
  if (first == 0xED && byte(1) > 0x9F) return 0;
  if (first == 0xF0 && byte(1) < 0x90) return 0;
  if (first == 0xF4 && byte(1) > 0x8F) return 0;
  return length;
}

inline void AppendCodePoint(std::uint32_t code, std::string* out) {
  const auto put = [&](std::uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

// Parses JSON text. Each method that returns bool says whether the thing it is named after is at
// the position, and moves the position after it; after false the position is undefined.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool AtEnd() const { return position_ == text_.size(); }

  void Spaces() {
    while (!AtEnd() && (Peek() == ' ' || Peek() == '\t' || Peek() == '\r' || Peek() == '\n')) {
      ++position_;
    }
  }

  bool Literal(std::string_view word) {
    if (text_.substr(position_, word.size()) != word) return false;
    position_ += word.size();
    return true;
  }

  bool Value(int depth) {
    if (depth > kMaxDepth) return false;
    switch (Peek()) {
      case '{':
        return Object(depth, nullptr);
      case '[':
        return Array(depth, nullptr);
      case '"':
        return String(nullptr);
      case 't':
        return Literal("true");
      case 'f':
        return Literal("false");
      case 'n':
        return Literal("null");
      default:
        return Number();
    }
  }

  // Collects the members if `members` is not null.
  bool Object(int depth, std::vector<Member>* members) {
    if (!Literal("{")) return false;
    Spaces();
    if (Literal("}")) return true;
    for (;;) {
      std::string name;
      Spaces();
      if (!String(members == nullptr ? nullptr : &name)) return false;
      Spaces();
      if (!Literal(":")) return false;
      Spaces();
      const std::size_t begin = position_;
      if (!Value(depth + 1)) return false;
      if (members != nullptr) {
        members->push_back({std::move(name), text_.substr(begin, position_ - begin)});
      }
      Spaces();
      if (Literal("}")) return true;
      if (!Literal(",")) return false;
    }
  }

  // Collects the JSON texts of the elements if `elements` is not null.
  bool Array(int depth, std::vector<std::string>* elements) {
    if (!Literal("[")) return false;
    Spaces();
    if (Literal("]")) return true;
    for (;;) {
      Spaces();
      const std::size_t begin = position_;
      if (!Value(depth + 1)) return false;
      if (elements != nullptr) elements->emplace_back(text_.substr(begin, position_ - begin));
      Spaces();
      if (Literal("]")) return true;
      if (!Literal(",")) return false;
    }
  }

  // Decodes into `out` if it is not null.
  bool String(std::string* out) {
    if (!Literal("\"")) return false;
    while (!AtEnd()) {
      const char c = text_[position_++];
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c == '\\') {
        if (!Escape(out)) return false;
      } else if (out != nullptr) {
        out->push_back(c);
      }
    }
    return false;
  }

  bool Number() {
    if (Literal("NaN")) return true;
    Literal("-");
    if (Literal("Infinity")) return true;
    if (!Literal("0") && !Digits()) return false;
    if (Literal(".") && !Digits()) return false;
    if (Literal("e") || Literal("E")) {
      if (!Literal("+")) Literal("-");
      if (!Digits()) return false;
    }
    return true;
  }

 private:
  char Peek() const { return AtEnd() ? '\0' : text_[position_]; }

  bool Digits() {
    const std::size_t begin = position_;
    while (IsDigit(Peek())) ++position_;
    return position_ > begin;
  }

  bool Escape(std::string* out) {
    if (AtEnd()) return false;
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kCharacters = "\"\\/\b\f\n\r\t";
    const char name = text_[position_++];
    if (name == 'u') return UnicodeEscape(out);
    const std::size_t index = kNames.find(name);
    if (index == std::string_view::npos) return false;
    if (out != nullptr) out->push_back(kCharacters[index]);
    return true;
  }

  // A surrogate without its counterpart becomes U+FFFD.
  bool UnicodeEscape(std::string* out) {
    std::uint32_t code = 0;
    if (!FourHexDigits(&code)) return false;
    if (code >= 0xD800 && code <= 0xDBFF) {
      const std::size_t behind = position_;
      std::uint32_t low = 0;
      if (Literal("\\u") && FourHexDigits(&low) && low >= 0xDC00 && low <= 0xDFFF) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      } else {
        position_ = behind;
      }
    }
    if (out == nullptr) return true;
    if (code >= 0xD800 && code <= 0xDFFF) {
      out->append(kReplacement);
    } else {
      AppendCodePoint(code, out);
    }
    return true;
  }

  bool FourHexDigits(std::uint32_t* code) {
    const std::string_view digits = text_.substr(position_, 4);
    if (digits.size() < 4) return false;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + 4, *code, 16);
    position_ += 4;
    return error == std::errc() && end == digits.data() + 4;
  }

  const std::string_view text_;
  std::size_t position_ = 0;
};

// Appends `text` as a JSON string. Bytes that are not UTF-8 become U+FFFD.
inline void AppendString(std::string_view text, std::string* out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out->push_back('"');
  while (!text.empty()) {
    const std::size_t length = CharacterLength(text);
    const char c = text.front();
    if (length == 0) {
      out->append(kReplacement);
    } else if (c == '"' || c == '\\') {
      out->append({'\\', c});
    } else if (c == '\n') {
      out->append("\\n");
    } else if (length == 1 && (c < 0x20 || c == 0x7F)) {
      out->append({'\\', 'u', '0', '0', kHex[c >> 4], kHex[c & 0xF]});
    } else {
      out->append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out->push_back('"');
}

// Appends the shortest text that reads back as exactly `value`.
inline void AppendNumber(double value, std::string* out) {
  if (std::isnan(value)) {
    out->append("NaN");
  } else if (std::isinf(value)) {
    out->append(value < 0 ? "-Infinity" : "Infinity");
  } else {
    char text[32];
    out->append(text, std::to_chars(text, text + sizeof(text), value).ptr);
  }
}

inline void AppendNumber(std::int64_t value, std::string* out) {
  char text[32];
  out->append(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

// Returns the members of the object in `text`, in order; nullopt if `text` is anything else: not
// JSON, another type, nested deeper than 64 levels, or followed by more text.
inline std::optional<std::vector<Member>> ParseObject(std::string_view text) {
  Scanner scanner(text);
  std::vector<Member> members;
  scanner.Spaces();
  if (!scanner.Object(1, &members)) return std::nullopt;
  scanner.Spaces();
  if (!scanner.AtEnd()) return std::nullopt;
  return members;
}

// Returns the JSON texts of the elements of the array in `text`; empty for anything else.
inline std::vector<std::string> Elements(std::string_view text) {
  Scanner scanner(text);
  std::vector<std::string> elements;
  if (!scanner.Array(1, &elements) || !scanner.AtEnd()) return {};
  return elements;
}

// Returns the JSON text of the first member called `name`; empty if no member is.
inline std::string_view Find(const std::vector<Member>& members, std::string_view name) {
  for (const Member& member : members) {
    if (member.name == name) return member.value;
  }
  return {};
}

// Returns the value of a member's JSON text; nullopt if it has another type or does not fit.
inline std::optional<std::string> ParseString(std::string_view value) {
  Scanner scanner(value);
  std::string text;
  if (!scanner.String(&text) || !scanner.AtEnd()) return std::nullopt;
  return text;
}

inline std::optional<double> ParseNumber(std::string_view value) {
  Scanner scanner(value);
  if (!scanner.Number() || !scanner.AtEnd()) return std::nullopt;
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

inline std::optional<std::int64_t> ParseInteger(std::string_view value) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) return std::nullopt;
  return number;
}

// Lines over a connected stream socket.
//
// Any thread may call Send(); only one thread at a time may call Receive(). The first failure that
// leaves the two ends out of step breaks the channel for good: every later call returns the same
// error at once. Blocking and non-blocking sockets behave alike, signals do not interrupt a call,
// and SIGPIPE is never raised.
class LineChannel {
 public:
  // Longest line in bytes; for Send(), the newline is included.
  static constexpr std::size_t kMaxLine = 1 << 20;

  // Takes ownership of `fd` if `owned`, otherwise leaves it open. In both cases programs that this
  // process starts do not inherit it.
  LineChannel(int fd, bool owned);
  ~LineChannel();
  LineChannel(const LineChannel&) = delete;
  LineChannel& operator=(const LineChannel&) = delete;

  // Sends `line`, which must not contain a newline, and a newline. Blocks while the socket is full.
  // Returns nullopt, or the error; a line that is too long is an error that does not break the
  // channel.
  std::optional<std::string> Send(std::string_view line);

  // Waits for a complete line and stores it, without its newline, in `line`. A `timeout` of zero
  // means no timeout. Returns nullopt, or the error.
  std::optional<std::string> Receive(std::chrono::milliseconds timeout, std::string* line);

  // Breaks the channel because of invalid data that the caller received.
  std::string Break(std::string_view why);

  // Returns why the channel is broken; nullopt if it is not.
  std::optional<std::string> error() const;
  // Returns true if this thread is inside Send().
  bool IsSending() const { return send_mutex_.IsMine(); }

 private:
  const int fd_;
  const bool owned_;

  std::string received_;   // Bytes after the last line; used by Receive() only.
  OwnedMutex send_mutex_;  // Held for a whole line. Acquired before state_mutex_.
  mutable std::mutex state_mutex_;
  std::optional<std::string> error_;  // Guarded by state_mutex_.
};

using Clock = std::chrono::steady_clock;

inline std::string ErrorText(int error) { return std::system_category().message(error); }

// Waits until `fd` is ready for `events`. Returns false if `deadline` passes first.
inline bool WaitFor(int fd, short events, std::optional<Clock::time_point> deadline) {
  for (;;) {
    int wait = -1;
    if (deadline.has_value()) {
      // Rounded up, so that the last iteration does not spin.
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
      if (left <= 0) return false;
      wait = static_cast<int>(std::min<std::chrono::milliseconds::rep>(left, 1000 * 1000));
    }
    pollfd poll_fd = {fd, events, 0};
    const int ready = ::poll(&poll_fd, 1, wait);
    // The caller's next system call reports any other error.
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;
  }
}

inline LineChannel::LineChannel(int fd, bool owned) : fd_(fd), owned_(owned) {
  const int flags = ::fcntl(fd_, F_GETFD);
  if (flags >= 0) ::fcntl(fd_, F_SETFD, flags | FD_CLOEXEC);
}

inline LineChannel::~LineChannel() {
  if (owned_) ::close(fd_);
}

inline std::optional<std::string> LineChannel::Send(std::string_view line) {
  if (line.size() + 1 > kMaxLine) {
    return "a line of " + std::to_string(line.size() + 1) + " bytes is over the limit of " +
           std::to_string(kMaxLine);
  }
  const std::string text = std::string(line) + '\n';
  std::lock_guard<OwnedMutex> lock(send_mutex_);
  if (auto broken = error()) return broken;
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t sent = ::send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      WaitFor(fd_, POLLOUT, std::nullopt);
    } else if (errno != EINTR) {
      return Break("cannot write to the report channel: " + ErrorText(errno));
    }
  }
  return std::nullopt;
}

inline std::optional<std::string> LineChannel::Receive(std::chrono::milliseconds timeout,
                                                       std::string* line) {
  if (auto broken = error()) return broken;
  std::optional<Clock::time_point> deadline;
  if (timeout > std::chrono::milliseconds::zero()) deadline = Clock::now() + timeout;
  std::size_t searched = 0;
  for (;;) {
    const std::size_t end = received_.find('\n', searched);
    if (std::min(end, received_.size()) > kMaxLine) {
      return Break("an answer of the yard is longer than " + std::to_string(kMaxLine) + " bytes");
    }
    if (end != std::string::npos) {
      *line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return std::nullopt;
    }
    searched = received_.size();
    if (!WaitFor(fd_, POLLIN, deadline)) {
      return Break("no answer of the yard within " + std::to_string(timeout.count()) + " ms");
    }
    char buffer[1 << 16];
    const ssize_t got = ::recv(fd_, buffer, sizeof(buffer), 0);
    if (got > 0) {
      received_.append(buffer, static_cast<std::size_t>(got));
    } else if (got == 0) {
      return Break("the yard closed the report channel");
    } else if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK) {
      return Break("cannot read from the report channel: " + ErrorText(errno));
    }
  }
}

inline std::string LineChannel::Break(std::string_view why) {
  std::lock_guard<std::mutex> lock(state_mutex_);
  if (!error_.has_value()) error_ = std::string(why);
  return *error_;
}

inline std::optional<std::string> LineChannel::error() const {
  std::lock_guard<std::mutex> lock(state_mutex_);
  return error_;
}

// Error code of the answer to hello in a task without a trial.
inline constexpr std::string_view kNobodyCollects = R"("FAILED_PRECONDITION")";
inline constexpr std::size_t kMaxFailText = 64 << 10;
inline constexpr std::size_t kMaxConfig = 4 << 20;

// The process that has a Reporter on the inherited socket with this inode; 0: none. A forked child
// inherits this record.
struct ChannelOwner {
  std::atomic<std::uint64_t> inode{0};
  std::atomic<pid_t> pid{0};
};
inline ChannelOwner channel_owner;

inline std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

inline Reply Error(std::string message) {
  Reply reply;
  reply.state = Reply::State::kError;
  reply.message = std::move(message);
  return reply;
}

// Returns the descriptor in `spec` (`N:INODE`); -1 if it is no longer that socket.
inline int InheritedSocket(std::string_view spec) {
  int fd = -1;
  std::uint64_t inode = 0;
  const char* const end = spec.data() + spec.size();
  const auto number = std::from_chars(spec.data(), end, fd);
  if (number.ec != std::errc() || number.ptr == end || *number.ptr != ':' || fd < 0) return -1;
  const auto id = std::from_chars(number.ptr + 1, end, inode);
  if (id.ec != std::errc() || id.ptr != end) return -1;
  struct stat status = {};
  if (::fstat(fd, &status) != 0 || !S_ISSOCK(status.st_mode) || status.st_ino != inode) return -1;
  return fd;
}

// Connects to the Unix socket `path`. Returns the descriptor; on error returns -1 and sets `error`.
inline int Connect(const std::string& path, std::string* error) {
  const auto failed = [&](const std::string& why) {
    *error = "cannot connect to the yard at " + path + ": " + why;
    return -1;
  };
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return failed("the path is too long");
  path.copy(address.sun_path, path.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return failed(ErrorText(errno));
  int result;
  do {
    result = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  } while (result != 0 && errno == EINTR);
  if (result == 0) return fd;
  const int why = errno;
  ::close(fd);
  return failed(ErrorText(why));
}

// Returns the JSON object in the file `path`. Returns nullopt and sets `error` if the file cannot
// be read or contains no object.
inline std::optional<std::string> ReadObject(const std::string& path, std::string* error) {
  const auto failed = [&](const std::string& why) {
    *error = "cannot read the configuration " + path + ": " + why;
    return std::nullopt;
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             &std::fclose);
  if (file == nullptr) return failed(ErrorText(errno));
  std::string text(kMaxConfig + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return failed(ErrorText(errno));
  if (text.size() > kMaxConfig) return failed("it is larger than 4 MiB");
  if (!ParseObject(text).has_value()) return failed("it is not a JSON object");
  const std::size_t begin = text.find('{');
  return text.substr(begin, text.rfind('}') + 1 - begin);
}

inline void AppendMembers(const Metric* metrics, std::size_t count, std::string* out) {
  *out += '{';
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) *out += ',';
    AppendString(metrics[i].name, out);
    *out += ':';
    *out += metrics[i].json;
  }
  *out += '}';
}

inline std::string ReportLine(const Metric* metrics, std::size_t count,
                              const ReportOptions& options, std::int64_t seq) {
  std::string line = R"({"t":"report","m":)";
  AppendMembers(metrics, count, &line);
  line += R"(,"seq":)";
  AppendNumber(seq, &line);
  if (options.step.has_value()) {
    line += R"(,"step":)";
    AppendNumber(*options.step, &line);
  }
  if (options.done) line += R"(,"done":true)";
  if (!options.checkpoint.empty()) {
    line += R"(,"ckpt":)";
    std::error_code error;
    const auto path = std::filesystem::absolute(options.checkpoint, error);
    AppendString(error ? options.checkpoint : path.string(), &line);
  }
  return line + '}';
}

inline std::string TextLine(std::string_view type, std::string_view name, std::string_view text) {
  std::string line = R"({"t":)";
  AppendString(type, &line);
  line += ',';
  AppendString(name, &line);
  line += ':';
  AppendString(text, &line);
  return line + '}';
}

// Syncs the files here, so that the yard's own sync, which delays other trials, is short. Ignores
// errors: the yard reports a bad file itself.
inline void SyncTree(const std::string& directory) {
  std::error_code error;
  auto entry = std::filesystem::recursive_directory_iterator(directory, error);
  for (; !error && entry != std::filesystem::recursive_directory_iterator();
       entry.increment(error)) {
    const int fd = ::open(entry->path().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;
    ::fsync(fd);
    ::close(fd);
  }
}

// Returns the part of an answer that is shown to a person.
inline std::string Excerpt(std::string_view line) {
  constexpr std::size_t kMost = 80;
  std::string quoted;
  AppendString(line.substr(0, kMost), &quoted);
  return line.size() > kMost ? quoted + "..." : quoted;
}

inline std::string TypeOf(const std::vector<Member>& members) {
  return ParseString(Find(members, "t")).value_or("");
}

inline std::string ErrorMessage(const std::vector<Member>& members) {
  const std::string code = ParseString(Find(members, "code")).value_or("");
  const std::string text = ParseString(Find(members, "error")).value_or("");
  if (code.empty() && text.empty()) return "the yard answered with an error and did not say which";
  return code.empty() || text.empty() ? code + text : code + ": " + text;
}

// Returns the JSON text at `path` in `object`; empty if `path` leads nowhere. A name that contains
// `/` itself takes precedence.
inline std::string_view ValueAt(std::string_view object, std::string_view path) {
  const auto members = ParseObject(object);
  if (!members.has_value()) return {};
  const std::string_view value = Find(*members, path);
  const std::size_t slash = path.find('/');
  if (!value.empty() || slash == std::string_view::npos) return value;
  return ValueAt(Find(*members, path.substr(0, slash)), path.substr(slash + 1));
}

// Event files (docs/event_files.md) are records of protobuf messages, encoded here without a
// library.

inline constexpr std::size_t kMaxValue = 16 << 20;

// The reflected CRC of the polynomial, computed with a table of 256 entries.
template <std::uint32_t kPolynomial>
inline std::uint32_t Crc(std::string_view data) {
  static const std::vector<std::uint32_t> table = [] {
    std::vector<std::uint32_t> made(256);
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      std::uint32_t crc = byte;
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
      made[byte] = crc;
    }
    return made;
  }();
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char byte : data) {
    crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xFF];
  }
  return crc ^ 0xFFFFFFFF;
}
inline constexpr std::uint32_t kCrc32 = 0xEDB88320, kCrc32c = 0x82F63B78;

// Appends the low `bytes` bytes of a number, lowest first.
inline void AppendLittle(std::uint64_t number, int bytes, std::string* out) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>(number >> (8 * i)));
}
inline void AppendBig(std::uint32_t number, std::string* out) {
  for (int i = 3; i >= 0; --i) out->push_back(static_cast<char>(number >> (8 * i)));
}

inline void AppendVarint(std::uint64_t number, std::string* out) {
  for (; number > 0x7F; number >>= 7) out->push_back(static_cast<char>(number | 0x80));
  out->push_back(static_cast<char>(number));
}
inline void AppendField(int field, std::uint64_t number, std::string* out) {
  AppendVarint(static_cast<std::uint64_t>(field) << 3, out);
  AppendVarint(number, out);
}
inline void AppendField(int field, std::string_view bytes, std::string* out) {
  AppendVarint(static_cast<std::uint64_t>(field) << 3 | 2, out);
  AppendVarint(bytes.size(), out);
  out->append(bytes);
}
inline void AppendDouble(double value, std::string* out) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  AppendLittle(bits, 8, out);
}
inline void AppendDoubleField(int field, double value, std::string* out) {
  AppendVarint(static_cast<std::uint64_t>(field) << 3 | 1, out);
  AppendDouble(value, out);
}

// A record: length, its checksum, payload, its checksum.
inline std::string EventRecord(std::string_view payload) {
  const auto masked = [](std::string_view data) {
    const std::uint32_t crc = Crc<kCrc32c>(data);
    return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
  };
  std::string record;
  AppendLittle(payload.size(), 8, &record);
  AppendLittle(masked(record), 4, &record);
  record.append(payload);
  AppendLittle(masked(payload), 4, &record);
  return record;
}

// Returns a PNG file with uncompressed pixels, which needs no library.
inline std::string PngOf(const Image& image) {
  constexpr std::size_t kMostStored = 65535;
  constexpr std::uint32_t kAdler = 65521;
  const auto line =
      static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.channels);
  std::string raw;
  for (int row = 0; row < image.height; ++row) {
    raw.push_back('\0');  // No filter.
    raw.append(reinterpret_cast<const char*>(image.pixels) + static_cast<std::size_t>(row) * line,
               line);
  }
  std::string data = "\x78\x01";
  for (std::size_t at = 0; at < raw.size(); at += kMostStored) {
    const std::size_t size = std::min(kMostStored, raw.size() - at);
    data.push_back(at + size == raw.size() ? 1 : 0);
    AppendLittle(size, 2, &data);
    AppendLittle(~size, 2, &data);
    data.append(raw, at, size);
  }
  std::uint32_t a = 1, b = 0;
  for (const char byte : raw) {
    a = (a + static_cast<unsigned char>(byte)) % kAdler;
    b = (b + a) % kAdler;
  }
  AppendBig(b << 16 | a, &data);
  std::string png = "\x89PNG\r\n\x1a\n";
  const auto chunk = [&png](std::string_view type, std::string_view content) {
    AppendBig(static_cast<std::uint32_t>(content.size()), &png);
    const std::string checked = std::string(type) + std::string(content);
    png += checked;
    AppendBig(Crc<kCrc32>(checked), &png);
  };
  constexpr char kColours[] = {0, 0, 4, 2, 6};  // By the number of channels.
  std::string header;
  AppendBig(static_cast<std::uint32_t>(image.width), &header);
  AppendBig(static_cast<std::uint32_t>(image.height), &header);
  header.push_back(8);  // Bits of a channel.
  header.push_back(kColours[image.channels]);
  header.append(3, '\0');
  chunk("IHDR", header);
  chunk("IDAT", data);
  chunk("IEND", "");
  return png;
}

// Returns a HistogramProto with up to 30 buckets of equal width. `values` must be finite and not
// empty.
inline std::string HistogramOf(const std::vector<double>& values) {
  constexpr std::size_t kBuckets = 30;
  const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
  const double low = *lowest, high = *highest;
  const std::size_t buckets = low < high ? kBuckets : 1;
  std::vector<double> counts(buckets, 0);
  double sum = 0, squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
    // Uses halves, because the difference of two numbers may be infinite.
    const double place = buckets == 1 ? 0 : (value / 2 - low / 2) / (high / 2 - low / 2);
    const auto bucket = static_cast<std::size_t>(place * static_cast<double>(buckets));
    counts[std::min(bucket, buckets - 1)] += 1;
  }
  std::string limits, numbers;
  for (std::size_t i = 0; i < buckets; ++i) {
    const double part = static_cast<double>(i + 1) / static_cast<double>(buckets);
    AppendDouble(i + 1 == buckets ? high : low * (1 - part) + high * part, &limits);
    AppendDouble(counts[i], &numbers);
  }
  std::string histogram;
  AppendDoubleField(1, low, &histogram);
  AppendDoubleField(2, high, &histogram);
  AppendDoubleField(3, static_cast<double>(values.size()), &histogram);
  AppendDoubleField(4, sum, &histogram);
  AppendDoubleField(5, squares, &histogram);
  AppendField(6, limits, &histogram);
  AppendField(7, numbers, &histogram);
  return histogram;
}

inline double SecondsNow() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Returns nullopt, or the error.
inline std::optional<std::string> AppendToFile(const std::string& path, std::string_view bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return "cannot open " + path + ": " + ErrorText(errno);
  std::optional<std::string> error;
  const off_t length = ::lseek(fd, 0, SEEK_END);
  while (!bytes.empty() && !error) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
    if (written < 0 && errno != EINTR) error = "cannot write " + path + ": " + ErrorText(errno);
  }
  // No record may follow a partial one.
  if (error && length >= 0 && ::ftruncate(fd, length) != 0) *error += "; it has half a record now";
  ::close(fd);
  return error;
}

}  // namespace internal

inline Metric::Metric(std::string_view metric_name, const Metric* metrics, std::size_t count)
    : name(metric_name) {
  internal::AppendMembers(metrics, count, &json);
}

inline std::optional<double> NumberIn(std::string_view object, std::string_view path) {
  const std::string_view value = internal::ValueAt(object, path);
  if (value == "true") return 1;
  if (value == "false") return 0;
  return internal::ParseNumber(value);
}

inline std::optional<std::string> TextIn(std::string_view object, std::string_view path) {
  return internal::ParseString(internal::ValueAt(object, path));
}

inline ReporterOptions ReporterOptions::FromEnvironment() {
  ReporterOptions options;
  options.fd = internal::Environment("YARD_FD");
  options.socket = internal::Environment("YARD_SOCKET");
  options.config_file = internal::Environment("YARD_CONFIG");
  options.checkpoint = internal::Environment("YARD_CHECKPOINT");
  options.iteration = internal::ParseInteger(internal::Environment("YARD_ITERATION")).value_or(0);
  options.run_directory = internal::Environment("YARD_LOGDIR");
  return options;
}

inline Reporter::Reporter(ReporterOptions options)
    : answer_timeout_(options.answer_timeout),
      out_(options.out),
      run_directory_(options.run_directory) {
  Open(options);
  if (channel_ == nullptr || !SayHello()) StartFrom(options);
}

inline Reporter::~Reporter() {
  auto& owner = internal::channel_owner;
  if (inode_ != 0 && owner.inode == inode_ && owner.pid == ::getpid()) owner.pid = 0;
}

inline void Reporter::Open(const ReporterOptions& options) {
  if (const int fd = internal::InheritedSocket(options.fd); fd >= 0) {
    connected_ = true;
    channel_ = std::make_unique<internal::LineChannel>(fd, /*owned=*/false);
    struct stat status = {};
    if (::fstat(fd, &status) == 0) inode_ = status.st_ino;
    auto& owner = internal::channel_owner;
    if (owner.inode == inode_ && owner.pid != 0 && owner.pid != pid_) {
      channel_->Break("the report channel is that of process " + std::to_string(owner.pid) +
                      ", from which this one was forked: report there");
    } else {
      owner.inode = inode_;
      owner.pid = pid_;
    }
  } else if (!options.socket.empty()) {
    connected_ = true;
    const int connection = internal::Connect(options.socket, &open_error_);
    if (connection >= 0) {
      channel_ = std::make_unique<internal::LineChannel>(connection, /*owned=*/true);
    }
  }
}

inline bool Reporter::SayHello() {
  std::string hello = R"({"t":"hello","v":1,"pid":)";
  internal::AppendNumber(static_cast<std::int64_t>(::getpid()), &hello);
  std::string line;
  if (channel_->Send(hello + '}').has_value()) return false;
  if (channel_->Receive(answer_timeout_, &line).has_value()) return false;
  const auto members = internal::ParseObject(line);
  const std::string type = members ? internal::TypeOf(*members) : "";
  if (type == "welcome") {
    const std::string_view config = internal::Find(*members, "config");
    if (internal::ParseObject(config).has_value()) config_ = config;
    checkpoint_ = internal::ParseString(internal::Find(*members, "checkpoint")).value_or("");
    iteration_ = internal::ParseInteger(internal::Find(*members, "iteration")).value_or(0);
    return true;
  }
  if (type == "stop") return false;  // The first report gets the stop again.
  if (type == "error" && internal::Find(*members, "code") == internal::kNobodyCollects) {
    std::fprintf(stderr, "yard: reports are printed only: %s\n",
                 internal::ErrorMessage(*members).c_str());
    connected_ = false;  // The channel still serves barriers.
    in_trial_ = internal::Find(*members, "trial") == "true";
  } else if (type == "error") {
    channel_->Break(internal::ErrorMessage(*members));
  } else {
    channel_->Break("the yard answered hello with " + internal::Excerpt(line));
  }
  return false;
}

inline void Reporter::StartFrom(const ReporterOptions& options) {
  checkpoint_ = options.checkpoint;
  iteration_ = options.iteration;
  if (options.config_file.empty()) return;
  std::string error;
  if (auto config = internal::ReadObject(options.config_file, &error)) {
    config_ = std::move(*config);
  } else {
    Break(std::move(error));
  }
}

// Training with another configuration than requested would be worse than not training.
inline void Reporter::Break(std::string why) {
  connected_ = true;
  if (channel_ != nullptr) {
    channel_->Break(why);
  } else if (open_error_.empty()) {
    open_error_ = std::move(why);
  }
}

inline std::optional<std::string> Reporter::WhyNot() const {
  if (::getpid() != pid_) {
    return "this Reporter is that of process " + std::to_string(pid_) +
           ", from which this one was forked: report there";
  }
  if (report_mutex_.IsMine() || (channel_ != nullptr && channel_->IsSending())) {
    return "a call inside of another call of the same thread, as in a signal handler: let that set "
           "a flag, and call after it";
  }
  return std::nullopt;
}

inline std::optional<std::string> Reporter::Ask(std::string_view line,
                                                std::chrono::milliseconds timeout,
                                                std::string* answer) {
  if (auto error = channel_->Send(line)) return error;
  return channel_->Receive(timeout, answer);
}

inline std::string Reporter::error() const {
  return channel_ == nullptr ? open_error_ : channel_->error().value_or("");
}

inline Reply Reporter::Report(std::initializer_list<Metric> metrics, ReportOptions options) {
  return ReportRow(metrics.begin(), metrics.size(), options);
}

inline Reply Reporter::Report(const std::vector<Metric>& metrics, ReportOptions options) {
  return ReportRow(metrics.data(), metrics.size(), options);
}

inline Reply Reporter::ReportRow(const Metric* metrics, std::size_t count,
                                 const ReportOptions& options) {
  for (std::size_t i = 0; i < count; ++i) {
    if (metrics[i].name.empty()) return internal::Error("a metric has no name");
  }
  if (auto why = WhyNot(); why && (connected_ || report_mutex_.IsMine())) {
    return internal::Error(std::move(*why));
  }
  if (!connected_) {
    std::lock_guard<internal::OwnedMutex> lock(report_mutex_);
    ++seq_;
    return Print(metrics, count, options);
  }
  if (channel_ == nullptr) return internal::Error(open_error_);
  std::lock_guard<internal::OwnedMutex> lock(report_mutex_);
  if (auto error = channel_->Send(internal::ReportLine(metrics, count, options, seq_ + 1))) {
    return internal::Error(std::move(*error));
  }
  ++seq_;
  std::string answer;
  if (auto error = channel_->Receive(answer_timeout_, &answer)) {
    return internal::Error(std::move(*error));
  }
  return ParseAnswer(answer, seq_);
}

inline Reply Reporter::Save(std::optional<std::int64_t> step, const Write& write) {
  if (report_mutex_.IsMine()) return internal::Error(WhyNot().value_or(""));
  if (!connected_ && !in_trial_) return SaveHere(step, write);
  std::string begin = R"({"t":"ckpt_begin")";
  if (step.has_value()) {
    begin += R"(,"step":)";
    internal::AppendNumber(*step, &begin);
  }
  const Reply begun = AskForPath(begin + '}', "ckpt_dir");
  if (!begun) return begun;
  if (write(begun.path)) {
    internal::SyncTree(begun.path);
    Reply saved = AskForPath(internal::TextLine("ckpt_end", "path", begun.path), "ok");
    // If the channel is broken, the yard may still be about to keep the directory.
    if (saved.state == Reply::State::kError && error().empty()) {
      std::error_code ignored;
      std::filesystem::remove_all(begun.path, ignored);
    }
    return saved;
  }
  std::error_code ignored;
  std::filesystem::remove_all(begun.path, ignored);
  return internal::Error("the checkpoint was not written");
}

inline Reply Reporter::ConfigUpdate(std::initializer_list<Metric> values) {
  return UpdateConfig(values.begin(), values.size());
}
inline Reply Reporter::ConfigUpdate(const std::vector<Metric>& values) {
  return UpdateConfig(values.data(), values.size());
}

inline Reply Reporter::UpdateConfig(const Metric* values, std::size_t count) {
  std::string config;
  internal::AppendMembers(values, count, &config);
  if (!connected_) {
    std::fprintf(out_, "config: %s\n", config.c_str());
    std::fflush(out_);
    return {};
  }
  if (channel_ == nullptr) return internal::Error(open_error_);
  if (auto why = WhyNot()) return internal::Error(std::move(*why));
  std::lock_guard<internal::OwnedMutex> lock(report_mutex_);
  std::string answer;
  if (auto error = Ask(R"({"t":"config","c":)" + config + '}', answer_timeout_, &answer)) {
    return internal::Error(std::move(*error));
  }
  return ParseAnswer(answer, seq_);
}

inline Reply Reporter::Barrier(std::string_view name, const BarrierOptions& options) {
  if (channel_ == nullptr) return connected_ ? internal::Error(open_error_) : Reply();
  std::string line = internal::TextLine("barrier", "name", name);
  line.pop_back();
  if (!options.tasks.empty()) {
    line += R"(,"tasks":)";
    for (const std::string& task : options.tasks) {
      line += &task == &options.tasks.front() ? '[' : ',';
      internal::AppendString(task, &line);
    }
    line += ']';
  }
  if (options.timeout.count() > 0) {
    line += R"(,"timeout_s":)";
    internal::AppendNumber(options.timeout.count(), &line);
  }
  if (auto why = WhyNot()) return internal::Error(std::move(*why));
  std::lock_guard<internal::OwnedMutex> lock(report_mutex_);
  std::string answer;
  // A barrier takes as long as the slowest task.
  const std::chrono::milliseconds no_limit{0};
  if (auto error = Ask(line + '}', no_limit, &answer)) return internal::Error(std::move(*error));
  const auto members = internal::ParseObject(answer);
  Reply reply = ParseAnswer(answer, seq_);
  if (reply && members) {
    reply.index = internal::ParseInteger(internal::Find(*members, "index")).value_or(0);
  }
  return reply;
}

inline Reply Reporter::SaveHere(std::optional<std::int64_t> step, const Write& write) {
  std::int64_t number = 0;
  {
    std::lock_guard<internal::OwnedMutex> lock(report_mutex_);
    number = step.value_or(seq_);
  }
  char name[40];
  std::snprintf(name, sizeof(name), "checkpoint_%06lld", static_cast<long long>(number));
  std::error_code error;
  Reply reply;
  reply.path = std::filesystem::absolute(name, error).string();
  std::filesystem::create_directory(reply.path, error);
  if (error) {
    return internal::Error("cannot make the directory " + reply.path + ": " + error.message());
  }
  return write(reply.path) ? reply : internal::Error("the checkpoint was not written");
}

inline Reply Reporter::AskForPath(std::string_view line, std::string_view kind) {
  if (channel_ == nullptr) return internal::Error(open_error_);
  if (auto why = WhyNot()) return internal::Error(std::move(*why));
  std::lock_guard<internal::OwnedMutex> lock(report_mutex_);
  std::string answer;
  if (auto error = Ask(line, answer_timeout_, &answer)) return internal::Error(std::move(*error));
  const auto members = internal::ParseObject(answer);
  const std::string type = members ? internal::TypeOf(*members) : "";
  if (!members || type == "stop" || type == "error") return ParseAnswer(answer, seq_);
  Reply reply;
  reply.path = internal::ParseString(internal::Find(*members, "path")).value_or("");
  if (type == kind && !reply.path.empty()) return reply;
  return internal::Error("the yard's answer is of an unknown kind: " + internal::Excerpt(answer));
}

inline Reply Reporter::ParseAnswer(std::string_view line, std::int64_t seq) {
  const auto members = internal::ParseObject(line);
  if (!members) {
    return internal::Error(
        channel_->Break("the yard's answer is not JSON: " + internal::Excerpt(line)));
  }
  const std::string type = internal::TypeOf(*members);
  if (type == "error") return internal::Error(internal::ErrorMessage(*members));
  Reply reply;
  if (type == "ok") {
    const std::string_view of = internal::Find(*members, "seq");
    if (!of.empty() && of != "null" && internal::ParseInteger(of) != seq) {
      return internal::Error(channel_->Break("the yard answered report " +
                                             std::string(of.substr(0, 24)) + " instead of " +
                                             std::to_string(seq)));
    }
    reply.events = internal::Elements(internal::Find(*members, "events"));
    reply.path = internal::ParseString(internal::Find(*members, "path")).value_or("");
    return reply;
  }
  if (type == "stop") {
    reply.state = Reply::State::kStop;
    reply.message =
        internal::ParseString(internal::Find(*members, "reason")).value_or(std::string("stop"));
    const double grace = internal::ParseNumber(internal::Find(*members, "grace_s")).value_or(0);
    reply.grace = std::chrono::duration<double>(grace > 0 ? grace : 0);
    return reply;
  }
  return internal::Error("the yard's answer is of an unknown kind: " + internal::Excerpt(line));
}

inline Reply Reporter::Print(const Metric* metrics, std::size_t count,
                             const ReportOptions& options) {
  std::string line;
  if (options.step.has_value()) {
    line += "step=";
    internal::AppendNumber(*options.step, &line);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!line.empty()) line += ' ';
    line += metrics[i].name + '=' + metrics[i].json;
  }
  std::fprintf(out_, "%s\n", line.c_str());
  std::fflush(out_);
  return {};
}

inline Reply Reporter::Send(std::string_view line) {
  if (!connected_) return {};
  if (channel_ == nullptr) return internal::Error(open_error_);
  // A line may be sent while this or another thread waits for an answer.
  const bool is_child = ::getpid() != pid_;
  if (is_child || channel_->IsSending()) return internal::Error(WhyNot().value_or(""));
  if (auto error = channel_->Send(line)) return internal::Error(std::move(*error));
  return {};
}

inline Reply Reporter::ReportImage(std::string_view tag, const Image& image, std::int64_t step) {
  const std::string size = std::to_string(image.width) + "x" + std::to_string(image.height);
  const bool is_image = image.width > 0 && image.height > 0 && image.channels > 0 &&
                        image.channels <= 4 && image.pixels != nullptr;
  if (!is_image) {
    return internal::Error("image " + std::string(tag) + " of " + size + " pixels and " +
                           std::to_string(image.channels) + " channels has no picture");
  }
  const auto pixels =
      static_cast<std::uint64_t>(image.width) * static_cast<std::uint64_t>(image.height);
  if (pixels > internal::kMaxValue) {
    return internal::Error("image " + std::string(tag) + " of " + size +
                           " pixels is over the limit of 16 MiB");
  }
  std::string content, fields;
  internal::AppendField(1, static_cast<std::uint64_t>(image.height), &content);
  internal::AppendField(2, static_cast<std::uint64_t>(image.width), &content);
  internal::AppendField(3, static_cast<std::uint64_t>(image.channels), &content);
  internal::AppendField(4, internal::PngOf(image), &content);
  internal::AppendField(4, content, &fields);
  return WriteValue(tag, step, fields, "image of " + size + " pixels");
}

inline Reply Reporter::ReportHistogram(std::string_view tag, const std::vector<double>& values,
                                       std::int64_t step) {
  std::vector<double> finite;
  for (const double value : values) {
    if (std::isfinite(value)) finite.push_back(value);
  }
  if (finite.empty()) {
    return internal::Error("histogram " + std::string(tag) + " has no finite value");
  }
  std::string fields;
  internal::AppendField(5, internal::HistogramOf(finite), &fields);
  return WriteValue(tag, step, fields, "histogram of " + std::to_string(finite.size()) + " values");
}

inline Reply Reporter::ReportText(std::string_view tag, std::string_view text, std::int64_t step) {
  std::string tensor, name, plugin, fields;
  internal::AppendField(1, 7, &tensor);   // A tensor of strings,
  internal::AppendField(2, "", &tensor);  // with one element.
  internal::AppendField(8, text, &tensor);
  internal::AppendField(1, "text", &name);
  internal::AppendField(1, name, &plugin);
  internal::AppendField(8, tensor, &fields);
  internal::AppendField(9, plugin, &fields);
  return WriteValue(tag, step, fields, "text of " + std::to_string(text.size()) + " bytes");
}

inline Reply Reporter::WriteValue(std::string_view tag, std::int64_t step,
                                  const std::string& fields, const std::string& what) {
  if (fields.size() > internal::kMaxValue) {
    return internal::Error(what + " " + std::string(tag) + " is over the limit of 16 MiB");
  }
  if (::getpid() != pid_) return internal::Error(WhyNot().value_or(""));
  std::lock_guard<std::mutex> lock(values_mutex_);
  if (run_directory_.empty()) {
    std::fprintf(out_, "step=%lld %.*s: %s\n", static_cast<long long>(step),
                 static_cast<int>(tag.size()), tag.data(), what.c_str());
    std::fflush(out_);
    return {};
  }
  std::string value, summary, event;
  internal::AppendField(1, tag, &value);
  value += fields;
  internal::AppendField(1, value, &summary);
  internal::AppendDoubleField(1, internal::SecondsNow(), &event);
  internal::AppendField(2, static_cast<std::uint64_t>(step), &event);
  internal::AppendField(5, summary, &event);
  std::string records, path = values_path_;
  if (path.empty()) {
    char host[256] = {};
    ::gethostname(host, sizeof(host) - 1);
    char name[400];
    std::snprintf(name, sizeof(name), "/events.out.tfevents.%010lld.%s.%d.values",
                  static_cast<long long>(internal::SecondsNow()), host, static_cast<int>(pid_));
    path = run_directory_ + name;
    std::string first;
    internal::AppendDoubleField(1, internal::SecondsNow(), &first);
    internal::AppendField(3, "brain.Event:2", &first);
    records = internal::EventRecord(first);
  }
  records += internal::EventRecord(event);
  if (auto error = internal::AppendToFile(path, records)) {
    return internal::Error(std::move(*error));
  }
  values_path_ = std::move(path);
  return {};
}

inline Reply Reporter::Log(std::string_view text) {
  if (!connected_) {
    std::fprintf(out_, "%.*s\n", static_cast<int>(text.size()), text.data());
    std::fflush(out_);
  }
  return Send(internal::TextLine("log", "text", text));
}

inline Reply Reporter::Heartbeat() { return Send(R"({"t":"hb"})"); }

inline Reply Reporter::Fail(std::string_view error) {
  if (!connected_) {
    std::fprintf(stderr, "failed: %.*s\n", static_cast<int>(error.size()), error.data());
  }
  return Send(internal::TextLine("fail", "error", error.substr(0, internal::kMaxFailText)));
}

}  // namespace yard

#endif  // SDK_CC_YARD_H_
