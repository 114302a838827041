#include "tools/yard/text/yaml.h"

#include <algorithm>
#include <exception>
#include <map>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/text/printable.h"
#include "runtime/text/utf8.h"
#include "yaml-cpp/eventhandler.h"
#include "yaml-cpp/exceptions.h"
#include "yaml-cpp/mark.h"
#include "yaml-cpp/parser.h"

namespace yard {
namespace {

constexpr std::size_t kMaxDepth = 16;
constexpr std::size_t kMaxNodes = 100'000;

// Thrown out of an event of the parser to end parsing.
struct Refused {
  YAML::Mark mark;
  std::string what;
};

bool IsForbidden(unsigned char c) { return c < 0x20 && c != '\t' && c != '\n' && c != '\r'; }

// Returns the number of characters between two byte offsets.
std::size_t Characters(std::string_view text, std::size_t from, std::size_t to) {
  if (from >= text.size()) return 0;
  const std::string_view part = text.substr(from, to - from);
  return static_cast<std::size_t>(
      std::count_if(part.begin(), part.end(), [](unsigned char c) { return (c & 0xC0) != 0x80; }));
}

// Returns an error with the line and column of byte offset `at`.
absl::Status Wrong(std::string_view text, const std::string& file, std::size_t at,
                   const std::string& what) {
  const std::string_view before = text.substr(0, at);
  const std::size_t newline = before.rfind('\n');
  const std::size_t line = newline == std::string_view::npos ? 0 : newline + 1;
  const auto lines = std::count(before.begin(), before.end(), '\n');
  return absl::InvalidArgumentError(runtime::Printable(
      absl::StrCat(file, ":", lines + 1, ":", Characters(text, line, at) + 1, ": ", what)));
}

// yaml-cpp takes some bytes for the end of the text, and decodes others wrongly, so these are
// refused.
absl::Status CheckBytes(std::string_view text, const std::string& file) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = runtime::Utf8Bytes(text.substr(at));
    if (bytes == 0) return Wrong(text, file, at, "not UTF-8 text");
    if (IsForbidden(static_cast<unsigned char>(text[at]))) {
      return Wrong(text, file, at, "a control character; in text write it as \"\\x1b\"");
    }
    at += bytes;
  }
  return absl::OkStatus();
}

// Builds the tree from the parser's events.
class Builder : public YAML::EventHandler {
 public:
  explicit Builder(std::string_view text) {
    for (std::size_t at = 0; at != std::string_view::npos; at = text.find('\n', at)) {
      if (!lines_.empty()) ++at;
      lines_.push_back(text.substr(at));
    }
  }

  bool has_document() const { return documents_ > 0; }
  YamlNode Take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      throw Refused{mark, "the end of the file was expected: it holds one map, nothing behind it"};
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(mark, "", anchor, YamlNode::Kind::kNull);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { RefuseAnchor(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (value.find('\0') != std::string::npos) throw Refused{mark, "a NUL character in a text"};
    YamlNode& node = Add(mark, tag, anchor, YamlNode::Kind::kText);
    node.text = value;
    node.quoted = tag == "!";
    if (!open_.empty()) CheckKey(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, YamlNode::Kind::kList);
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, YamlNode::Kind::kMap);
  }
  void OnMapEnd() override { open_.pop_back(); }

 private:
  // A list or map that is still open. A parent does not grow while a child is open, so the pointers
  // stay valid.
  struct Frame {
    YamlNode* node;
    std::map<std::string, int> lines;  // Lines of the keys so far.
  };

  [[noreturn]] static void RefuseAnchor(const YAML::Mark& mark) {
    throw Refused{mark, "anchors (&) and aliases (*) are not supported; quote a text with them"};
  }

  void Open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YamlNode::Kind kind) {
    YamlNode& node = Add(mark, tag, anchor, kind);
    if (open_.size() == kMaxDepth) {
      throw Refused{mark, absl::StrCat("more than ", kMaxDepth, " levels")};
    }
    open_.push_back({&node, {}});
  }

  // Returns true if the next value is a key of the innermost map.
  bool IsKey() const {
    return !open_.empty() && open_.back().node->kind == YamlNode::Kind::kMap &&
           open_.back().node->keys.size() == open_.back().node->items.size();
  }

  YamlNode& Add(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                YamlNode::Kind kind) {
    if (anchor != 0) RefuseAnchor(mark);
    if (!tag.empty() && tag != "?" && tag != "!") throw Refused{mark, "tags are not supported"};
    if (++nodes_ > kMaxNodes) {
      throw Refused{mark, absl::StrCat("more than ", kMaxNodes, " values")};
    }
    if (IsKey() && kind != YamlNode::Kind::kText) throw Refused{mark, "a key must be a text"};
    YamlNode& node = Place();
    node.kind = kind;
    Locate(mark, &node);
    return node;
  }

  YamlNode& Place() {
    if (open_.empty()) return root_;
    YamlNode& parent = *open_.back().node;
    return IsKey() ? parent.keys.emplace_back() : parent.items.emplace_back();
  }

  // Converts yaml-cpp's positions: it counts bytes, and places a missing value at the start of the
  // next token.
  void Locate(const YAML::Mark& mark, YamlNode* node) {
    const auto line = static_cast<std::size_t>(std::max(mark.line, 0));
    if (node->kind == YamlNode::Kind::kNull && !open_.empty() && !open_.back().node->keys.empty() &&
        mark.line >= open_.back().node->keys.back().line) {
      node->line = open_.back().node->keys.back().line;
      node->column = open_.back().node->keys.back().column;
      return;
    }
    if (line != line_) {
      line_ = line;
      bytes_ = characters_ = 0;
    }
    const auto wanted = static_cast<std::size_t>(std::max(mark.column, 0));
    const std::string_view text = line < lines_.size() ? lines_[line] : std::string_view();
    if (wanted >= bytes_) {
      characters_ += Characters(text, bytes_, wanted);
    } else {
      characters_ -= Characters(text, wanted, bytes_);
    }
    bytes_ = wanted;
    node->line = static_cast<int>(line) + 1;
    node->column = static_cast<int>(characters_) + 1;
  }

  // Call after adding a text: refuses a key that the map already has.
  void CheckKey(const YAML::Mark& mark) {
    Frame& frame = open_.back();
    if (frame.node->kind != YamlNode::Kind::kMap ||
        frame.node->keys.size() == frame.node->items.size()) {
      return;
    }
    const YamlNode& key = frame.node->keys.back();
    const auto [first, is_new] = frame.lines.emplace(key.text, key.line);
    if (is_new) return;
    throw Refused{mark,
                  absl::StrCat("\"", key.text.substr(0, 80), "\" a second time; it is on line ",
                               first->second, " already")};
  }

  std::vector<std::string_view> lines_;  // Each from its beginning to the end of the text.
  std::vector<Frame> open_;
  YamlNode root_;
  std::size_t nodes_ = 0;
  int documents_ = 0;
  // The last position computed: `characters_` is the number of characters in the line's first
  // `bytes_`.
  std::size_t line_ = 0, bytes_ = 0, characters_ = 0;
};

std::size_t BytesBefore(std::string_view text, const YAML::Mark& mark) {
  return std::min(static_cast<std::size_t>(std::max(mark.pos, 0)), text.size());
}

}  // namespace

const YamlNode* YamlNode::Find(std::string_view key) const {
  for (std::size_t i = 0; i < items.size() && i < keys.size(); ++i) {
    if (keys[i].text == key) return &items[i];
  }
  return nullptr;
}

bool HasNoYaml(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string_view::npos && line[first] != '#') return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

absl::StatusOr<YamlNode> ParseYaml(std::string_view text, const std::string& file) {
  if (text.size() > kMaxYamlBytes) {
    return absl::InvalidArgumentError(
        runtime::Printable(absl::StrCat(file, ": larger than ", kMaxYamlBytes >> 20, " MiB")));
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (absl::Status status = CheckBytes(text, file); !status.ok()) return status;
  Builder builder(text);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Refused& refused) {
    return Wrong(text, file, BytesBefore(text, refused.mark), refused.what);
  } catch (const YAML::Exception& error) {
    return Wrong(text, file, BytesBefore(text, error.mark),
                 absl::StrCat("neither valid YAML nor JSON: ", error.msg));
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(runtime::Printable(absl::StrCat(file, ": ", error.what())));
  }
  if (!builder.has_document()) {
    return absl::InvalidArgumentError(
        runtime::Printable(absl::StrCat(file, ":1:1: the file is empty")));
  }
  return builder.Take();
}

}  // namespace yard
