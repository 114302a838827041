#ifndef WEB_PAGE_PAGE_FILES_H_
#define WEB_PAGE_PAGE_FILES_H_

#include <optional>
#include <string_view>

namespace web {

// A file of the page, from this folder or third_party/page/. The files are embedded in the program,
// so that an installation is a single file.
struct PageFile {
  std::string_view type;
  std::string_view body;
};
// Finds "index.html", "page.js" and so on; nothing if the page has no such file.
std::optional<PageFile> FindPageFile(std::string_view name);

}  // namespace web

#endif  // WEB_PAGE_PAGE_FILES_H_
