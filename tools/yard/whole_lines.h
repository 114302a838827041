#ifndef TOOLS_YARD_WHOLE_LINES_H_
#define TOOLS_YARD_WHOLE_LINES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "bus/schema/launcher_generated.h"

namespace yard {

// Puts pieces of output together to whole lines, those of each stream of each task by themselves.
// What ends inside a line is kept, at most 1 MiB, until its rest comes. A line is given out as it
// is, unfinished, when another attempt begins, when bytes are missing behind it, and by Finish().
// One thread.
class WholeLines {
 public:
  // `task` is "j-abcde/worker-0"; the line is without its end.
  using Take = std::function<void(const std::string& task, bool is_error, std::string_view line)>;
  explicit WholeLines(Take take) : take_(std::move(take)) {}

  void Add(const msg::LogsReplyT& part);
  void Finish();

 private:
  struct Stream {
    std::uint32_t attempt = 0;
    std::uint64_t end = 0;  // Of what is known of it.
    std::string rest;
  };
  using Name = std::pair<std::string, bool>;

  void Finish(const Name& name, Stream* stream);

  const Take take_;
  std::map<Name, Stream> streams_;
};

}  // namespace yard

#endif  // TOOLS_YARD_WHOLE_LINES_H_
