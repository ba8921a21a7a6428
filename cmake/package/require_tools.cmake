# Read by CPack before it makes a package.
foreach(entry IN ITEMS dpkg-shlibdeps:dpkg-dev file:file)
  string(REPLACE ":" ";" entry "${entry}")
  list(POP_FRONT entry program package)
  find_program(found_${package} "${program}" NO_CACHE)
  if(NOT found_${package})
    message(FATAL_ERROR "'${program}' is missing, which finds out what the packages depend on; install the Debian "
                        "package '${package}'")
  endif()
endforeach()
