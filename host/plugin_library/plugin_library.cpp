// Loads a plugin's shared library and asks it what it is. The only user of Boost.DLL.
#include "plugin_library/plugin_library.h"

#define BOOST_DLL_USE_STD_FS
#include <dlfcn.h>
#include <waybill/plugin.h>

#include <boost/dll/shared_library.hpp>
#include <functional>
#include <memory>

#include "base/utf8.h"
#include "plugin_library/plugin_file.h"
#include "plugin_library/private_copy.h"

namespace waybill {
namespace {

constexpr const char* kEntry = "wb_plugin_v1";
constexpr auto kLoadMode = static_cast<boost::dll::load_mode::type>(static_cast<unsigned>(boost::dll::load_mode::rtld_now) |
                                                                    static_cast<unsigned>(boost::dll::load_mode::rtld_local) |
                                                                    static_cast<unsigned>(RTLD_NODELETE));

// A library that is never closed: senders, threads and descriptors point into it until the process ends.
union OpenForEver {
  explicit OpenForEver(const std::filesystem::path& file) : library(file, kLoadMode) {}
  ~OpenForEver() {}
  boost::dll::shared_library library;
};

std::string other_major(const boost::dll::shared_library& library) {
  for (const char major : {'0', '2', '3', '4', '5', '6', '7', '8', '9'})
    if (library.has(std::string("wb_plugin_v") + major)) return {major};
  return {};
}

// From a copy, so that whoever writes over the file does not write over code that runs; else from the file itself.
std::unique_ptr<OpenForEver> open_library(const std::filesystem::path& file, std::string& why_in_place) {
  const auto copy = private_copy(file);
  if (!copy) {
    why_in_place = copy.error().what;
    return std::make_unique<OpenForEver>(file);
  }
  try {
    auto open = std::make_unique<OpenForEver>(*copy);
    name_library(open->library.native(), file);
    return open;
  } catch (const std::exception& error) {
    why_in_place = std::string("from a copy it cannot be loaded: ") + error.what();
    return std::make_unique<OpenForEver>(file);  // or throws what names the file
  }
}

tl::unexpected<Error> refuse_file(const std::string& what) { return fail(Error::Kind::invalid, what); }

Result<OpenedLibrary> handshake(const std::function<std::unique_ptr<OpenForEver>()>& open_it) {
  try {
    const auto opened = open_it();
    const auto& open = *opened;
    if (!open.library.has(kEntry)) {
      const auto major = other_major(open.library);
      if (major.empty())
        return refuse_file("it does not export wb_plugin_v1\nbuild it with waybill/plugin.h, and export that function");
      return refuse_file("it is built for ABI major " + major +
                         "; this host has major 1\nbuild it with this host's waybill/plugin.h");
    }
    const auto entry = open.library.get<const wb_plugin*()>(kEntry);
    const wb_plugin* plugin = nullptr;
    try {
      plugin = entry();
    } catch (...) {
      return refuse_file("wb_plugin_v1 threw an exception\nreturn a constant descriptor");
    }
    auto descriptor = check_descriptor(plugin);
    TRY(descriptor);
    return OpenedLibrary{plugin, std::move(*descriptor)};
  } catch (const std::exception& error) {
    return refuse_file("it cannot be loaded: " + clean_text(error.what(), 500) +
                       "\nbuild it for this machine, and install what it needs");
  }
}

}  // namespace

Result<LoadedFile> load_file(const std::filesystem::path& file) {
  if (auto fault = fault_in_file(file)) return refuse_file(fault->reason + "\n" + fault->remedy);
  std::string why_in_place;
  auto opened = handshake([&] { return open_library(file, why_in_place); });
  TRY(opened);
  return LoadedFile{std::move(opened->descriptor), clean_text(why_in_place, 500)};
}

Result<OpenedLibrary> open_in_place(const std::filesystem::path& file) {
  return handshake([&] { return std::make_unique<OpenForEver>(file); });
}

}  // namespace waybill
