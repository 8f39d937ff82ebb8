// Stores and reads versions of pipelines.
#include "store/pipelines/pipeline_versions.h"

#include "store/pipelines/pipelines.sql.h"
#include "store/submissions/read_rows.h"

namespace waybill {
namespace {

constexpr int kMaxTries = 20;  // of hosts that store different versions at the same moment

// The moves before the version that makes them.
template <class Session>
Result<void> write_version(Session& session, const PipelineDefinition& definition) {
  ArrayText from, to;
  for (const auto& move : definition.pipeline.transitions) {
    from.add(move.from);
    to.add(move.to);
  }
  TRY(session.run(sql::make_pipeline_moves, {definition.pipeline.name, from.take(), to.take()}));
  TRY(session.run(sql::make_pipeline_version, {definition.pipeline.name, bytea(as_view(definition.hash)), definition.text}));
  return {};
}

Error not_stored(const PipelineDefinition& definition) {
  return {Error::Kind::unavailable, "pipeline " + definition.pipeline.name + ": its version could not be stored"};
}

}  // namespace

Result<PipelineVersion> PipelineVersions::store(Link& link, const std::shared_ptr<const PipelineDefinition>& definition) {
  const std::string hash = to_hex(as_view(definition->hash));
  if (const auto known = ids_.find(hash); known != ids_.end()) return by_id_.at(known->second);
  for (const auto& started : definition->starts) TRY(store(link, started));
  const std::string bytes = bytea(as_view(definition->hash));
  for (int i = 0; i < kMaxTries; ++i) {
    auto found = link.read(sql::find_pipeline_version, {bytes});
    TRY(found);
    if (found->size() == 1) {
      const PipelineVersion version{static_cast<int>(found->front().version_id()), static_cast<int>(found->front().number()),
                                    definition};
      by_id_[version.id] = version;
      ids_[hash] = version.id;
      return version;
    }
    TRY(write_version(link, *definition));
  }
  return tl::unexpected(not_stored(*definition));
}

Result<int> store_pipeline_version(Connection& connection, const PipelineDefinition& definition) {
  for (int i = 0; i < kMaxTries; ++i) {
    const auto found = connection.run(sql::find_pipeline_version, {bytea(as_view(definition.hash))});
    TRY(found);
    if (!found->empty()) return static_cast<int>(found->front().version_id());
    TRY(write_version(connection, definition));
  }
  return tl::unexpected(not_stored(definition));
}

Result<PipelineVersion> PipelineVersions::read(Connection& connection, int id) {
  if (const auto known = by_id_.find(id); known != by_id_.end()) return known->second;
  auto found = connection.run(sql::read_pipeline_version, {std::to_string(id)});
  TRY(found);
  if (found->size() != 1) return fail(Error::Kind::bug, "a submission's version of its pipeline is not there");
  auto definition = definition_from_text(std::string(found->front().definition()));
  TRY(definition);
  PipelineVersion version{id, static_cast<int>(found->front().number()),
                          std::make_shared<const PipelineDefinition>(std::move(*definition))};
  by_id_[id] = version;
  return version;
}

Result<PipelineVersion> PipelineVersions::find(Connection& connection, const std::string& hash_in_hex) {
  if (const auto known = ids_.find(hash_in_hex); known != ids_.end()) return by_id_.at(known->second);
  auto found = connection.run(sql::find_pipeline_version, {bytea(from_hex(hash_in_hex))});
  TRY(found);
  if (found->size() != 1) return fail(Error::Kind::bug, "the version of a pipeline that another one starts is not there");
  const int id = static_cast<int>(found->front().version_id());
  ids_[hash_in_hex] = id;
  return read(connection, id);
}

}  // namespace waybill
