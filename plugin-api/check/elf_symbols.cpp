// The dynamic symbol table of an ELF file. Every offset is a stranger's, so every one is checked.
#include "elf_symbols.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

namespace waybill::conformance {
namespace {

template <class T>
std::optional<T> at(const std::string& bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::optional<std::string> string_at(const std::string& bytes, const Elf64_Shdr& strings, std::uint64_t offset) {
  if (strings.sh_offset > bytes.size() || bytes.size() - strings.sh_offset < strings.sh_size || offset >= strings.sh_size)
    return std::nullopt;
  const std::string_view table(bytes.data() + strings.sh_offset, strings.sh_size);
  const auto end = table.find('\0', offset);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(table.substr(offset, end - offset));
}

bool is_offered(const Elf64_Sym& symbol) {
  const auto binding = ELF64_ST_BIND(symbol.st_info);
  const auto visibility = ELF64_ST_VISIBILITY(symbol.st_other);
  return symbol.st_shndx != SHN_UNDEF && (binding == STB_GLOBAL || binding == STB_WEAK || binding == STB_GNU_UNIQUE) &&
         (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
}

}  // namespace

tl::expected<std::vector<std::string>, std::string> exported_symbols(const std::filesystem::path& file) {
  const auto broken = [](const char* what) { return tl::unexpected(std::string(what)); };
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (!in) return broken("it cannot be read");
  const auto header = at<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return broken("it is no ELF file");
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_type != ET_DYN) return broken("it is no 64-bit shared library");
  if (header->e_shnum > 0 && header->e_shentsize != sizeof(Elf64_Shdr)) return broken("its table of sections is malformed");
  std::vector<std::string> names;
  bool found = false;
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto section = at<Elf64_Shdr>(bytes, header->e_shoff + i * header->e_shentsize);
    if (!section) return broken("its table of sections is cut off");
    if (section->sh_type != SHT_DYNSYM) continue;
    if (std::exchange(found, true)) return broken("it has more than one table of symbols");  // of which a loader takes one
    const auto strings = at<Elf64_Shdr>(bytes, header->e_shoff + std::uint64_t{section->sh_link} * header->e_shentsize);
    if (!strings || section->sh_entsize != sizeof(Elf64_Sym)) return broken("its table of symbols is malformed");
    for (std::uint64_t offset = 0; offset + sizeof(Elf64_Sym) <= section->sh_size; offset += sizeof(Elf64_Sym)) {
      const auto symbol = at<Elf64_Sym>(bytes, section->sh_offset + offset);
      if (!symbol) return broken("its table of symbols is cut off");
      if (!is_offered(*symbol)) continue;
      const auto name = string_at(bytes, *strings, symbol->st_name);
      if (!name) return broken("a symbol's name is cut off");
      names.push_back(*name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace waybill::conformance
