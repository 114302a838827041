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
#include "tools/yard/follow/json_output.h"
#include "tools/yard/text/text_width.h"

namespace yard {

// Terminal output of a followed thing: scrolling text and, if stderr is a terminal, one live line
// below it. Any thread.
class LiveScreen {
 public:
  explicit LiveScreen(Context& context) : context_(context), live_(context.err_is_terminal) {}

  // Prints output of the followed program, unchanged.
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
  // Prints a message of this program, not of the followed one.
  void Say(const std::string& text) {
    runtime::MutexLock lock(mutex_);
    Clear();
    if (!at_line_start_ && live_) *context_.err << "\n";
    *context_.err << text << "\n" << std::flush;
    at_line_start_ = true;
    Draw();
  }
  // Prints a JSON object on stdout.
  void Object(const nlohmann::json& object) {
    runtime::MutexLock lock(mutex_);
    PrintJson(context_, object);
  }
  // Replaces the live line; an empty one removes it.
  void SetLine(const std::string& line) {
    runtime::MutexLock lock(mutex_);
    Clear();
    line_ = runtime::Printable(line);
    Draw();
  }
  // Removes the live line, and draws it no more.
  void Close() {
    runtime::MutexLock lock(mutex_);
    Clear();
    // On a terminal, the next text starts on a new line.
    if (!at_line_start_ && live_) *context_.err << std::endl;
    live_ = false;
  }

 private:
  void Clear() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (live_ && drawn_) *context_.err << "\r\x1b[K" << std::flush;
    drawn_ = false;
  }
  void Draw() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    // While the program's line is incomplete, the live line cannot be drawn.
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
