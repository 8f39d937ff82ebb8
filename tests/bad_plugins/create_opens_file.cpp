// Opens a file when a sender is made; closes it with the sender.
#include <fcntl.h>
#include <unistd.h>

#include "poster.h"

namespace {
struct Opener : kit::Poster {
  explicit Opener(const wb_host* host) : Poster(host), file(open("/dev/null", O_WRONLY | O_CLOEXEC)) {}
  ~Opener() override { close(file); }
  int file;
};
}  // namespace

KIT_PLUGIN(Opener, "create_opens_file");
