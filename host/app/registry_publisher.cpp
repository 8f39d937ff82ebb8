// Publishing and comparing registries.
#include "app/registry_publisher.h"

namespace waybill {

bool RegistryPublisher::has_news() const {
  const auto host = host_();
  const std::lock_guard lock(mutex_);
  return host && (!published_ || *published_ != std::pair(*host, registry_.report()));
}

Result<void> RegistryPublisher::publish(FormStore& store) {
  const auto host = host_();
  const std::lock_guard lock(mutex_);  // so that an older state never comes after a newer one
  if (!host) return {};
  auto now = std::pair(*host, registry_.report());
  metrics_.registry(now.second.digest);
  if (published_ == now) return {};
  TRY(store.publish_registry(now.first, now.second));
  published_ = std::move(now);
  return {};
}

// A submission is then taken by one host and refused by another, or goes elsewhere.
Result<void> RegistryPublisher::compare(FormStore& store) {
  const auto hosts = store.registries();
  TRY(hosts);
  const auto own = registry_.report().digest;
  std::string others;
  for (const auto& host : *hosts)
    if (host.report && host.report->digest != own)
      others.append(others.empty() ? "" : ", ").append(host.name).append(" ").append(host.report->digest);
  metrics_.registry_differs(!others.empty());
  if (others == others_) return {};
  others_ = others;
  if (others.empty())
    log_.info("registry.agrees", {{"digest", own}});
  else
    log_.warn("registry.differs", {{"digest", own},
                                   {"others", others},
                                   {"remedy", "give all hosts the same files, then run `waybill reload` on each machine"}});
  return {};
}

PeriodicTask RegistryPublisher::task(FormStore& store) {
  return {.name = "registry",
          .every = Seconds{10},
          .run = [this, &store]() -> Result<void> {
            TRY(publish(store));
            return compare(store);
          },
          .is_wanted = [this] { return has_news(); }};
}

}  // namespace waybill
