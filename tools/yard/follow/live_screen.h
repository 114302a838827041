#ifndef TOOLS_YARD_FOLLOW_LIVE_SCREEN_H_
#define TOOLS_YARD_FOLLOW_LIVE_SCREEN_H_

#include <algorithm>
#include <ostream>
#include <string>
#include <string_view>

#include "bus/schema/envelope_generated.h"
#include "nlohmann/json.hpp"
#include "runtime/mutex.h"
#include "runtime/text/printable.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/follow/things_json.h"
#include "tools/yard/text/text_width.h"

namespace yard {

// The terminal of something that is followed: what it says, and one live line below that, where
// stderr is a terminal. Any thread.
class LiveScreen {
 public:
  explicit LiveScreen(Context& context) : context_(context), live_(context.err_is_terminal) {}

  void Output(msg::LogStream stream, std::string_view bytes) {
    runtime::MutexLock lock(mutex_);
    Clear();
    // With --json, stdout is for JSON alone.
    const bool out = stream == msg::LogStream::Stdout && !context_.json;
    std::ostream& to = out ? *context_.out : *context_.err;
    to.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    to.flush();
    at_line_start_ = bytes.empty() || bytes.back() == '\n';
    Draw();
  }
  // A line of our own.
  void Say(const std::string& text) {
    runtime::MutexLock lock(mutex_);
    Clear();
    if (!at_line_start_ && live_) *context_.err << "\n";
    *context_.err << text << "\n" << std::flush;
    at_line_start_ = true;
    Draw();
  }
  void Object(const nlohmann::json& object) {
    runtime::MutexLock lock(mutex_);
    PrintJson(context_, object);
  }
  void SetLine(const std::string& line) {
    runtime::MutexLock lock(mutex_);
    Clear();
    line_ = runtime::Printable(line);
    Draw();
  }
  // Removes the live line; nothing is drawn any more.
  void Close() {
    runtime::MutexLock lock(mutex_);
    Clear();
    // The next text begins a line of its own, where somebody reads both.
    if (!at_line_start_ && live_) *context_.err << std::endl;
    live_ = false;
  }

 private:
  void Clear() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (live_ && drawn_) *context_.err << "\r\x1b[K" << std::flush;
    drawn_ = false;
  }
  void Draw() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    // In the middle of the program's own line there is no place for ours.
    if (!live_ || line_.empty() || !at_line_start_) return;
    *context_.err << FitText(line_, std::max(context_.width - 1, 10)) << std::flush;
    drawn_ = true;
  }

  Context& context_;
  runtime::Mutex mutex_;
  bool live_ ABSL_GUARDED_BY(mutex_);
  bool drawn_ ABSL_GUARDED_BY(mutex_) = false;
  bool at_line_start_ ABSL_GUARDED_BY(mutex_) = true;
  std::string line_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yard

#endif  // TOOLS_YARD_FOLLOW_LIVE_SCREEN_H_
