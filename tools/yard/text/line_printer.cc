#include "tools/yard/text/line_printer.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "runtime/text/printable.h"

namespace yard {
namespace {

constexpr std::size_t kPrefixWidth = 14;

}  // namespace

void LinePrinter::Print(std::string_view who, std::string_view line) {
  if (options_.prefix) {
    std::string prefix = "[" + std::string(who) + "]:";
    prefix.resize(std::max(prefix.size(), kPrefixWidth), ' ');
    *options_.out << prefix << ' ';
  }
  if (options_.printable) {
    *options_.out << runtime::Printable(line) << '\n';
  } else {
    *options_.out << line << '\n';
  }
}

}  // namespace yard
