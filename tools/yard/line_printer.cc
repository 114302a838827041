#include "tools/yard/line_printer.h"

#include <algorithm>

#include "tools/yard/printable.h"

namespace yard {
namespace {

constexpr std::size_t kLongestLine = 1 << 20;
constexpr std::size_t kPrefixWidth = 14;

}  // namespace

void LinePrinter::Print(std::string_view task, std::string_view piece) {
  auto rest = rest_.find(task);
  if (rest == rest_.end()) rest = rest_.emplace(std::string(task), "").first;
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    if (end == std::string_view::npos) {
      rest->second.append(piece);
      if (rest->second.size() < kLongestLine) break;
      PrintLine(task, rest->second);
      rest->second.clear();
      break;
    }
    if (rest->second.empty()) {
      PrintLine(task, piece.substr(0, end));
    } else {
      PrintLine(task, rest->second.append(piece.substr(0, end)));
      rest->second.clear();
    }
    piece.remove_prefix(end + 1);
  }
  options_.out->flush();
}

void LinePrinter::FinishLine(std::string_view task) {
  const auto rest = rest_.find(task);
  if (rest == rest_.end() || rest->second.empty()) return;
  PrintLine(task, rest->second);
  rest->second.clear();
}

void LinePrinter::Finish() {
  for (auto& [task, rest] : rest_) {
    if (!rest.empty()) PrintLine(task, rest);
    rest.clear();
  }
  options_.out->flush();
}

void LinePrinter::PrintLine(std::string_view task, std::string_view line) {
  if (options_.prefix) {
    std::string prefix = "[" + std::string(task.substr(task.rfind('/') + 1)) + "]:";
    prefix.resize(std::max(prefix.size(), kPrefixWidth), ' ');
    *options_.out << prefix << ' ';
  }
  if (options_.printable) {
    *options_.out << Printable(line) << '\n';
  } else {
    *options_.out << line << '\n';
  }
}

}  // namespace yard
