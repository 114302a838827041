#ifndef WEB_PAGE_PAGE_FILES_H_
#define WEB_PAGE_PAGE_FILES_H_

#include <optional>
#include <string_view>

namespace web {

// A file of the page, as it stands in this folder or in third_party/page/: they are part of the
// program, so that an installation is one file and needs no other.
struct PageFile {
  std::string_view type;
  std::string_view body;
};
// `name` is for example "index.html" or "page.js". Nothing if the page has no such file.
std::optional<PageFile> FindPageFile(std::string_view name);

}  // namespace web

#endif  // WEB_PAGE_PAGE_FILES_H_
