#ifndef DATAMANAGER_FIND_LOSSY_UTF8_H_
#define DATAMANAGER_FIND_LOSSY_UTF8_H_

#include <string>
#include <string_view>

namespace datamanager {

// `bytes` as UTF-8, for the names of files and directories, which may be any bytes on disk but are
// text everywhere else. Each longest run of bytes that begins a character and does not end it, and
// each byte that cannot begin one, becomes one U+FFFD: what TensorBoard's Rust data server and its
// Python loader do, so that a run has the same name in all of them. Overlong forms, surrogates and
// what is above U+10FFFF are no characters.
std::string LossyUtf8(std::string_view bytes);

}  // namespace datamanager

#endif  // DATAMANAGER_FIND_LOSSY_UTF8_H_
