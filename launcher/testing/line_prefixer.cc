#include "launcher/testing/line_prefixer.h"

#include <algorithm>
#include <cstring>

namespace launcher::testing {
namespace {

constexpr std::size_t kColumns = 14;

}  // namespace

LinePrefixer::LinePrefixer(std::string_view task) {
  prefix_.append("[").append(task).append("]:");
  prefix_.resize(std::max(prefix_.size(), kColumns), ' ');
  prefix_.push_back(' ');
}

void LinePrefixer::Add(std::string_view bytes, std::string* lines) {
  while (!bytes.empty()) {
    const void* newline = std::memchr(bytes.data(), '\n', bytes.size());
    if (newline == nullptr) break;
    const auto size =
        static_cast<std::size_t>(static_cast<const char*>(newline) - bytes.data()) + 1;
    lines->append(prefix_);
    if (!rest_.empty()) {
      lines->append(rest_);
      rest_.clear();
    }
    lines->append(bytes.data(), size);
    bytes.remove_prefix(size);
  }
  rest_.append(bytes);
  while (rest_.size() >= kMaxLine) {
    lines->append(prefix_).append(rest_, 0, kMaxLine).push_back('\n');
    rest_.erase(0, kMaxLine);
  }
}

void LinePrefixer::Finish(std::string* lines) {
  if (rest_.empty()) return;
  lines->append(prefix_).append(rest_).push_back('\n');
  rest_.clear();
}

}  // namespace launcher::testing
