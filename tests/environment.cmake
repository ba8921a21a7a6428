# What all tests find, however they are run by ctest: costs do not depend on the processor.
if(NOT DEFINED ENV{TARE_PROCESSOR})
  set(ENV{TARE_PROCESSOR} any)
endif()
