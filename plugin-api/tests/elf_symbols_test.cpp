// The names that a file offers, read from hand-made ELF files.
#include "elf_symbols.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

namespace waybill::conformance {
namespace {

// A library with one section of symbols: those of `names`, all of them offered.
class ElfFile {
 public:
  explicit ElfFile(const std::vector<std::string>& names) {
    std::vector<Elf64_Sym> symbols(1);
    strings_.assign(1, '\0');
    for (const auto& name : names) {
      Elf64_Sym symbol{};
      symbol.st_name = static_cast<Elf64_Word>(strings_.size());
      symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
      symbol.st_shndx = 1;
      symbols.push_back(symbol);
      strings_.append(name).append(1, '\0');
    }
    symbols_.assign(reinterpret_cast<const char*>(symbols.data()), symbols.size() * sizeof(Elf64_Sym));
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_type = ET_DYN;
    header.e_shoff = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 3;
    const auto begin = sizeof header + sizeof sections;
    sections[1].sh_type = SHT_DYNSYM;
    sections[1].sh_offset = begin;
    sections[1].sh_size = symbols_.size();
    sections[1].sh_link = 2;
    sections[1].sh_entsize = sizeof(Elf64_Sym);
    sections[2].sh_type = SHT_STRTAB;
    sections[2].sh_offset = begin + symbols_.size();
    sections[2].sh_size = strings_.size();
  }

  tl::expected<std::vector<std::string>, std::string> read() const {
    char path[] = "/tmp/waybill-elf-XXXXXX";
    const int file = mkstemp(path);
    EXPECT_GE(file, 0);
    close(file);
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&header), sizeof header)
        .write(reinterpret_cast<const char*>(sections), sizeof sections);
    out << symbols_ << strings_;
    out.close();
    auto names = exported_symbols(path);
    unlink(path);
    return names;
  }

  Elf64_Ehdr header{};
  Elf64_Shdr sections[3]{};

 private:
  std::string symbols_;
  std::string strings_;
};

using Names = std::vector<std::string>;

TEST(ElfSymbols, AreReadInOrder) {
  const auto names = ElfFile({"wb_plugin_v1", "another"}).read();
  ASSERT_TRUE(names) << names.error();
  EXPECT_EQ(*names, (Names{"another", "wb_plugin_v1"}));
}

// A table that counts for each of 65,000 sections would be read as often: gigabytes of names out of a small file.
TEST(ElfSymbols, OfMoreThanOneTableAreRefused) {
  ElfFile file({"wb_plugin_v1"});
  file.sections[0] = file.sections[1];
  const auto names = file.read();
  ASSERT_FALSE(names);
  EXPECT_EQ(names.error(), "it has more than one table of symbols");
}

TEST(ElfSymbols, OfSectionsThatHaveNoSizeAreRefused) {
  ElfFile file({"wb_plugin_v1"});
  file.header.e_shoff += sizeof(Elf64_Shdr);
  file.header.e_shentsize = 0;
  file.header.e_shnum = 60000;
  file.sections[1].sh_link = 0;
  const auto names = file.read();
  ASSERT_FALSE(names);
  EXPECT_EQ(names.error(), "its table of sections is malformed");
}

}  // namespace
}  // namespace waybill::conformance
