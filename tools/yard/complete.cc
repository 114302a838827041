#include "tools/yard/complete.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "absl/time/time.h"
#include "bus/schema/envelope_generated.h"
#include "runtime/text/printable.h"
#include "runtime/text/utf8.h"
#include "tools/yard/cli/verb.h"
#include "tools/yard/completion_words.h"
#include "tools/yard/follow/live_names.h"
#include "tools/yard/json/message_schema.h"

namespace yard {
namespace {

// The shell waits at each keypress, and people notice 100 ms.
constexpr absl::Duration kNamesTime = absl::Milliseconds(80);
constexpr std::size_t kLongestNote = 60;

bool CanBeTyped(const std::string& text) {
  return !text.empty() && text.find('\t') == std::string::npos && runtime::Printable(text) == text;
}

// Returns one line, shortened to whole characters.
std::string Note(const std::string& text) {
  const std::string printable = runtime::Printable(text);
  std::size_t end = 0;
  while (end < printable.size()) {
    const std::size_t next =
        end + std::max<std::size_t>(runtime::Utf8Bytes(std::string_view(printable).substr(end)), 1);
    if (next > kLongestNote) break;
    end = next;
  }
  std::string note = printable.substr(0, end);
  std::replace(note.begin(), note.end(), '\t', ' ');
  return note;
}

void Print(const Context& context, const std::string& word, const std::string& note) {
  if (!CanBeTyped(word)) return;
  *context.out << word;
  if (!note.empty()) *context.out << '\t' << Note(note);
  *context.out << '\n';
}

void PrintMethods(const Context& context, const std::string& service, const std::string& prefix) {
  const auto schema = MessageSchema::Load();
  if (!schema.ok()) return;
  for (const MessageSchema::Method& method : (*schema)->Methods(service)) {
    const std::string name(method.info.name);
    if (name.starts_with(prefix)) Print(context, name, method.comment);
  }
}

}  // namespace

int Complete(Context& context, const std::vector<std::string>& words) {
  const CompletionWords found = FindCompletions(words);
  if (found.is_file) return kNothingOfOurs;
  for (const auto& [text, note] : found.words) Print(context, text, note);
  if (found.kinds.empty()) return kDone;
  if (found.kinds.front() == "method") {
    PrintMethods(context, found.of, found.prefix);
    return kDone;
  }
  const auto client = context.client();
  if (!client.ok()) return kDone;
  for (const msg::NameT& name :
       LiveNames(**client, found.kinds, found.prefix, found.of, kNamesTime)) {
    // A name that begins with "-" would be read as a flag.
    if (found.before.empty() && name.name.starts_with('-')) continue;
    Print(context, found.before + name.name,
          name.note.empty() ? name.kind : name.kind + ", " + name.note);
  }
  return kDone;
}

}  // namespace yard
