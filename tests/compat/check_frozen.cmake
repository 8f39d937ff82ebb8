# cmake -DFOLDER=v1.0 -P check_frozen.cmake: fails unless the folder holds the very files that its SHA256SUMS lists.  H1
file(GLOB_RECURSE files RELATIVE ${FOLDER} ${FOLDER}/*.h ${FOLDER}/*.hpp ${FOLDER}/*.c ${FOLDER}/*.cpp)
list(SORT files)
set(found "")
foreach(file IN LISTS files)
  file(SHA256 ${FOLDER}/${file} sum)
  string(APPEND found "${sum}  ${file}\n")
endforeach()
file(READ ${FOLDER}/SHA256SUMS wanted)
if(NOT found STREQUAL wanted)
  message(FATAL_ERROR "${FOLDER} is not what was frozen. It stands for plugins that people built long ago and cannot build again, so "
    "it never changes: put it back (git checkout). If today's host cannot run these plugins any more, mend the host. A new minor version "
    "gets a folder of its own beside this one.\nfrozen:\n${wanted}found:\n${found}")
endif()
