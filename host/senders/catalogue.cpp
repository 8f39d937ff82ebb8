// The plugins of one folder: loaded, handshaken, their settings checked, or refused by name. The only user of Boost.DLL.
#include "senders/catalogue.h"

#define BOOST_DLL_USE_STD_FS
#include <dlfcn.h>
#include <waybill/plugin.h>

#include <algorithm>
#include <boost/dll/shared_library.hpp>

#include "senders/plugin_descriptor.h"
#include "senders/plugin_file.h"
#include "senders/plugin_text.h"

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

RefusedPlugin refused(const std::string& file, const std::string& reason_and_remedy) {
  const auto end = reason_and_remedy.find('\n');
  return {file, reason_and_remedy.substr(0, end), end == std::string::npos ? "" : reason_and_remedy.substr(end + 1)};
}

Result<Descriptor> load_file(const std::filesystem::path& file) {
  const auto refuse = [](const std::string& what) { return fail(Error::Kind::invalid, what); };
  if (auto fault = fault_in_file(file)) return refuse(fault->reason + "\n" + fault->remedy);
  try {
    const OpenForEver open(file);
    if (!open.library.has(kEntry)) {
      const auto major = other_major(open.library);
      if (major.empty())
        return refuse("it does not export wb_plugin_v1\nbuild it with waybill/plugin.h, and export that function");
      return refuse("it is built for ABI major " + major + "; this host has major 1\nbuild it with this host's waybill/plugin.h");
    }
    const auto entry = open.library.get<const wb_plugin*()>(kEntry);
    const wb_plugin* plugin = nullptr;
    try {
      plugin = entry();
    } catch (...) {
      return refuse("wb_plugin_v1 threw an exception\nreturn a constant descriptor");
    }
    return check_descriptor(plugin);
  } catch (const std::exception& error) {
    return refuse("it cannot be loaded: " + clean_text(error.what(), 500) +
                  "\nbuild it for this machine, and install what it needs");
  }
}

}  // namespace

struct Catalogue::Contents {
  std::map<std::string, LoadedAction, std::less<>> actions;
  std::vector<LoadedPlugin> loaded;
  std::vector<RefusedPlugin> refused;

  void add(const std::string& file, Descriptor descriptor);
  const LoadedPlugin* plugin_of(std::string_view type) const {
    const auto owner = std::find_if(loaded.begin(), loaded.end(), [&](const LoadedPlugin& plugin) {
      return std::find(plugin.action_types.begin(), plugin.action_types.end(), type) != plugin.action_types.end();
    });
    return owner == loaded.end() ? nullptr : &*owner;
  }
  const LoadedAction* find(std::string_view name) const {
    const auto found = actions.find(name);
    return found == actions.end() ? nullptr : &found->second;
  }
};

void Catalogue::Contents::add(const std::string& file, Descriptor descriptor) {
  for (const auto& action : descriptor.actions) {
    const auto* owner = plugin_of(action.type.name);
    if (owner == nullptr) continue;
    refused.push_back(
        {file, "its action type " + action.type.name + " belongs to " + owner->file + " already", "remove one of the two"});
    return;
  }
  LoadedPlugin plugin{file, std::move(descriptor.id), std::move(descriptor.version), descriptor.abi_minor, {}};
  for (auto& action : descriptor.actions) {
    plugin.action_types.push_back(action.type.name);
    auto name = action.type.name;
    actions.emplace(std::move(name), std::move(action));
  }
  loaded.push_back(std::move(plugin));
}

Catalogue::Catalogue() : contents_(std::make_unique<Contents>()) {}
Catalogue::~Catalogue() = default;

std::unique_ptr<Catalogue> Catalogue::load(const std::filesystem::path& folder) {
  std::unique_ptr<Catalogue> catalogue(new Catalogue);
  auto& contents = *catalogue->contents_;
  if (auto fault = fault_in_folder(folder)) {
    contents.refused.push_back({folder.string(), fault->reason, fault->remedy});
    return catalogue;
  }
  std::vector<std::filesystem::path> files;
  try {
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::canonical(folder)))
      if (entry.path().extension() == ".so") files.push_back(entry.path());
  } catch (const std::filesystem::filesystem_error& error) {
    contents.refused.push_back({folder.string(), error.what(), "check the folder's permissions"});
    return catalogue;
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    const auto name = file.filename().string();
    if (auto descriptor = load_file(file))
      contents.add(name, std::move(*descriptor));
    else
      contents.refused.push_back(waybill::refused(name, descriptor.error().what));
  }
  return catalogue;
}

const ActionType* Catalogue::find(std::string_view name) const {
  const auto* found = contents_->find(name);
  return found == nullptr ? nullptr : &found->type;
}

std::vector<std::string> Catalogue::names() const {
  std::vector<std::string> names;
  for (const auto& [name, action] : contents_->actions) names.push_back(name);
  return names;
}

const std::vector<LoadedPlugin>& Catalogue::loaded() const { return contents_->loaded; }
const std::vector<RefusedPlugin>& Catalogue::refused() const { return contents_->refused; }

const LoadedPlugin* Catalogue::plugin_of(std::string_view action_type) const { return contents_->plugin_of(action_type); }

const wb_action* Catalogue::action(std::string_view name) const {
  const auto* found = contents_->find(name);
  return found == nullptr ? nullptr : found->action;
}

Problems Catalogue::check_destination(std::string_view action_type, const std::string& json) const {
  const auto* found = contents_->find(action_type);
  if (found == nullptr) return {{"", 0, "", "no plugin has the action type " + clean_text(action_type, 64)}};
  auto problems = found->destination.check(json);
  return problems.empty() ? ask_plugin(found->action->validate_destination, json) : problems;
}

Problems Catalogue::check_settings(std::string_view action_type, const std::string& json) const {
  const auto* found = contents_->find(action_type);
  if (found == nullptr) return {{"", 0, "", "no plugin has the action type " + clean_text(action_type, 64)}};
  auto problems = found->settings.check(json);
  return problems.empty() ? ask_plugin(found->action->validate_settings, json) : problems;
}

}  // namespace waybill
