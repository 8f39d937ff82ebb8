// Which of the service manager's sockets is for what.
#include "app/inherited_listeners.h"

namespace waybill {

Result<InheritedListeners> inherited_listeners(std::vector<InheritedSocket> sockets, Config& config) {
  InheritedListeners listeners;
  for (auto& socket : sockets) {
    const bool is_metrics = socket.name == "metrics";
    if (!is_metrics && socket.name != "http" && !socket.name.ends_with(".socket") && socket.name != "unknown")
      return fail(Error::Kind::invalid, "the service manager has a socket \"" + socket.name +
                                            "\" for this host; FileDescriptorName= must be http or metrics");
    auto& place = is_metrics ? listeners.metrics : listeners.api;
    if (place.get() >= 0)
      return fail(Error::Kind::invalid, std::string("the service manager has two sockets for ") +
                                            (is_metrics ? "the metrics" : "the API") + "; one is possible");
    const ListenAddress address{socket.host, socket.port};
    if (!is_metrics && config.auth_none && !address.is_loopback())
      return fail(Error::Kind::invalid,
                  "auth: none is for loopback addresses only, and the service manager's socket listens on " + socket.host);
    if (is_metrics)
      config.metrics.listen = address;
    else
      config.listen = address;
    place = std::move(socket.descriptor);
  }
  return listeners;
}

}  // namespace waybill
